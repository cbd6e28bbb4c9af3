//! The tensor table of a GGUF file, checked against the file.

use kernels::Format;

use super::super::error::{Error, Subject};
use super::super::file_bytes::FileBytes;
use super::super::tensor::{Tensor, TensorTable};
use super::cursor::Cursor;
use super::fault::{GgufFault, Located};

/// The longest tensor name that ggml keeps, in bytes.
const LONGEST_NAME: u64 = 63;
/// The most dimensions that the format allows.
const MOST_DIMENSIONS: u32 = 4;
/// The fewest bytes that a tensor's info takes: length, one byte of name, count, one extent, type, offset.
pub(super) const SHORTEST_INFO: u64 = 8 + 1 + 4 + 8 + 4 + 8;

/// What the table says of one tensor.
struct Info {
    tensor: Tensor,
    /// Where the info's offset field is in the file.
    offset_field: u64,
    /// Where its data start, counted from the start of tensor data.
    relative: u64,
}

/// Reads `count` infos, and places them in the file: the tensors, and where tensor data start.
pub(super) fn read(
    file: &FileBytes,
    cursor: &mut Cursor<'_>,
    count: u64,
    alignment: u32,
) -> Result<(TensorTable, u64), Error> {
    let mut infos = Vec::new();
    for number in 0..count {
        let name = cursor
            .name(LONGEST_NAME)
            .map_err(|fault| fault.in_file(file, Subject::TensorNumber(number)))?;
        let info = read_info(cursor, name)
            .map_err(|fault| fault.in_file(file, Subject::Tensor(name.to_owned())))?;
        infos.push(info);
    }
    let data_offset = cursor.position().next_multiple_of(u64::from(alignment));
    let mut table = TensorTable::default();
    let mut expected = 0;
    for mut info in infos {
        let subject = Subject::Tensor(info.tensor.name.clone());
        let offset_field = info.offset_field;
        expected = place(&mut info, data_offset, expected, alignment, file.len())
            .map_err(|fault| fault.at(offset_field).in_file(file, subject.clone()))?;
        if let Err(earlier) = table.insert(info.tensor) {
            let fault = GgufFault::DuplicateTensor { first: earlier.offset };
            return Err(fault.at(offset_field).in_file(file, subject));
        }
    }
    refuse_unaccounted(file, &table, cursor.position(), alignment)?;
    Ok((table, data_offset))
}

/// A file ends with its last tensor, or with that tensor's padding: a tensor count that lost a bit would
/// otherwise hide tensors without a word.
fn refuse_unaccounted(
    file: &FileBytes,
    table: &TensorTable,
    header_end: u64,
    alignment: u32,
) -> Result<(), Error> {
    let last = table.all().last();
    let end = last.map_or(header_end, |tensor| tensor.offset + tensor.bytes);
    if file.len() <= end.next_multiple_of(u64::from(alignment)) {
        return Ok(());
    }
    let fault = GgufFault::Unaccounted { bytes: file.len() - end };
    Err(fault.at(end).in_file(file, Subject::Data))
}

fn read_info(cursor: &mut Cursor<'_>, name: &str) -> Result<Info, Located> {
    let start = cursor.position();
    let dimensions = cursor.u32("a tensor's dimension count")?;
    if !(1..=MOST_DIMENSIONS).contains(&dimensions) {
        let fault = GgufFault::Dimensions { found: dimensions, most: MOST_DIMENSIONS };
        return Err(fault.at(start));
    }
    let start = cursor.position();
    let mut extents = Vec::new();
    for _ in 0..dimensions {
        extents.push(cursor.u64("a tensor's extents")?);
    }
    if let Some(dimension) = extents.iter().position(|&extent| extent == 0) {
        return Err(GgufFault::EmptyDimension { dimension }.at(start));
    }
    let type_field = cursor.position();
    let id = cursor.u32("a tensor's type")?;
    let format =
        Format::from_ggml_type(id).map_err(|error| GgufFault::TensorType(error).at(type_field))?;
    let bytes = size(format, &extents).map_err(|fault| fault.at(start))?;
    let shape = extents.iter().rev().map(|&extent| extent as usize).collect();
    let offset_field = cursor.position();
    let relative = cursor.u64("a tensor's offset")?;
    let tensor = Tensor { name: name.to_owned(), format, shape, offset: 0, bytes, file: 0 };
    Ok(Info { tensor, offset_field, relative })
}

/// The bytes that a tensor of these extents (file order: row length first) takes.
fn size(format: Format, extents: &[u64]) -> Result<u64, GgufFault> {
    let block = format.block_len() as u64;
    let columns = extents[0];
    if !columns.is_multiple_of(block) {
        return Err(GgufFault::RowLength { format, columns, block });
    }
    // The elements are counted too, so that no product of extents can overflow later.
    let elements = extents.iter().try_fold(1, |product: u64, &extent| product.checked_mul(extent));
    elements
        .and_then(|elements| (elements / block).checked_mul(format.block_bytes() as u64))
        .filter(|&bytes| i64::try_from(bytes).is_ok())
        .ok_or_else(|| GgufFault::TooLarge { extents: extents.to_vec() })
}

/// Puts the tensor where its data are and gives the offset that the next one must have.
fn place(
    info: &mut Info,
    data_offset: u64,
    expected: u64,
    alignment: u32,
    file: u64,
) -> Result<u64, GgufFault> {
    let (found, bytes) = (info.relative, info.tensor.bytes);
    if found != expected {
        return Err(GgufFault::TensorOffset { found, expected, alignment });
    }
    // No sum here can overflow: what came before lies inside the file, and sizes fit an i64.
    let start = data_offset + found;
    if start + bytes > file {
        return Err(GgufFault::TensorBehindEnd { start, bytes, file });
    }
    info.tensor.offset = start;
    Ok((found + bytes).next_multiple_of(u64::from(alignment)))
}
