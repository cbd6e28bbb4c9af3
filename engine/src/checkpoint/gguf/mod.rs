//! GGUF files, versions 2 and 3, little-endian.
//!
//! ```text
//! magic "GGUF" | version u32 | tensor count u64 | key count u64
//! key count   x ( name string | value type u32 | value )
//! tensor count x ( name string | dimensions u32 | extents u64 each | type u32 | offset u64 )
//! padding to the alignment | the tensors' bytes, each padded to the alignment
//! ```
//! A string is a u64 length and its bytes. Versions 2 and 3 lay little-endian files out alike. Source:
//! the format's specification (`docs/gguf.md` of the ggml project) and, where it is silent, what
//! llama.cpp accepts: tensors follow each other without gaps, in the order of their table.

mod cursor;
mod fault;
mod metadata;
mod tensors;
mod value;

use std::path::Path;

pub use fault::GgufFault;
pub use metadata::{Entry, Metadata};
pub use value::{Array, FromValue, Value, ValueType};

use super::error::{Error, Subject};
use super::file_bytes::FileBytes;
use super::tensor::TensorTable;
use cursor::Cursor;
use metadata::MetadataTable;

/// The first four bytes of every GGUF file.
pub const MAGIC: [u8; 4] = *b"GGUF";

/// The key whose value is the alignment of tensor data.
const ALIGNMENT_KEY: &str = "general.alignment";
/// The alignment of files that do not say.
const DEFAULT_ALIGNMENT: u32 = 32;
/// The key that says in how many files a checkpoint was split.
const SPLIT_KEY: &str = "split.count";

/// An open GGUF file.
#[derive(Debug)]
pub struct Gguf {
    files: [FileBytes; 1],
    version: u32,
    alignment: u32,
    data_offset: u64,
    metadata: MetadataTable,
    tensors: TensorTable,
}

impl Gguf {
    /// Reads and checks the whole header of `file`; no tensor's bytes are touched.
    pub fn read(file: FileBytes) -> Result<Self, Error> {
        let mut cursor = Cursor::new(file.bytes());
        let header =
            read_header(&mut cursor).map_err(|fault| fault.in_file(&file, Subject::Header))?;
        let metadata = MetadataTable::read(&file, &mut cursor, header.keys)?;
        let alignment = alignment(&metadata.of(&file))?;
        refuse_split(&metadata.of(&file))?;
        let (tensors, data_offset) = tensors::read(&file, &mut cursor, header.tensors, alignment)?;
        let version = header.version;
        Ok(Self { files: [file], version, alignment, data_offset, metadata, tensors })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.files[0].path()
    }

    /// The version of the format that the file says it follows: 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Tensor data start at multiples of this many bytes, counted from [`Gguf::data_offset`].
    pub fn alignment(&self) -> u32 {
        self.alignment
    }

    /// Where the header ends and tensor data start, in bytes from the start of the file.
    pub fn data_offset(&self) -> u64 {
        self.data_offset
    }

    /// The file's metadata.
    pub fn metadata(&self) -> Metadata<'_> {
        self.metadata.of(&self.files[0])
    }

    pub(super) fn table(&self) -> &TensorTable {
        &self.tensors
    }

    pub(super) fn files(&self) -> &[FileBytes] {
        &self.files
    }
}

struct Header {
    version: u32,
    tensors: u64,
    keys: u64,
}

fn read_header(cursor: &mut Cursor<'_>) -> Result<Header, fault::Located> {
    let start = cursor.position();
    let magic = cursor.array::<4>("the magic")?;
    if magic != MAGIC {
        return Err(GgufFault::Magic { found: magic }.at(start));
    }
    let start = cursor.position();
    let version = cursor.u32("the version")?;
    match version {
        2 | 3 => {}
        // A big-endian file's version is small when its bytes are swapped.
        _ if version.swap_bytes() <= 0xffff => {
            return Err(GgufFault::BigEndian { version: version.swap_bytes() }.at(start));
        }
        _ => return Err(GgufFault::Version { found: version }.at(start)),
    }
    let tensors = cursor.count("tensors", tensors::SHORTEST_INFO)?;
    let keys = cursor.count("metadata keys", metadata::SHORTEST_ENTRY)?;
    Ok(Header { version, tensors, keys })
}

fn alignment(metadata: &Metadata<'_>) -> Result<u32, Error> {
    let Some(alignment) = metadata.find::<u32>(ALIGNMENT_KEY)? else {
        return Ok(DEFAULT_ALIGNMENT);
    };
    if alignment.is_power_of_two() {
        return Ok(alignment);
    }
    Err(metadata.fault(ALIGNMENT_KEY, GgufFault::Alignment { found: alignment }))
}

fn refuse_split(metadata: &Metadata<'_>) -> Result<(), Error> {
    match metadata.find::<u16>(SPLIT_KEY)? {
        Some(files) if files > 1 => Err(metadata.fault(SPLIT_KEY, GgufFault::Split { files })),
        _ => Ok(()),
    }
}
