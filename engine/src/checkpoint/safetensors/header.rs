//! The header of one safetensors file, checked against the file.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use kernels::Format;
use safetensors::Dtype;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};

use super::super::error::{Error, Subject};
use super::super::file_bytes::FileBytes;
use super::super::tensor::Tensor;
use super::fault::SafetensorsFault;

/// The bytes of the header length.
const LENGTH_BYTES: u64 = 8;
/// The longest header that the format allows, in bytes.
const LONGEST_HEADER: u64 = 100_000_000;
/// The one name in a header that is not a tensor's.
const NOTES: &str = "__metadata__";

/// What a header says.
pub(super) struct Header {
    /// In the order of their data.
    pub(super) tensors: Vec<Tensor>,
    /// The pairs of `__metadata__`.
    pub(super) notes: Vec<(String, String)>,
}

/// One tensor's line in the header.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Info {
    dtype: Dtype,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// Reads the header of `file`, which is the `number`-th of its checkpoint.
pub(super) fn read(file: &FileBytes, number: usize) -> Result<Header, Error> {
    let json = header_bytes(file)?;
    let Lines { mut infos, notes } = serde_json::from_slice(json).map_err(|error| {
        let offset = LENGTH_BYTES + position(json, &error);
        SafetensorsFault::Json(error).in_file(file, Subject::Header.at(offset))
    })?;
    infos.sort_by_key(|(_, info)| info.data_offsets);
    let data_offset = LENGTH_BYTES + json.len() as u64;
    let left = file.len() - data_offset;
    let mut tensors = Vec::with_capacity(infos.len());
    let mut end = 0;
    for (name, info) in infos {
        let offset = data_offset + end;
        let (format, bytes) = check(&info, end, left)
            .map_err(|fault| fault.in_file(file, Subject::Tensor(name.clone()).at(offset)))?;
        let shape = info.shape.iter().map(|&extent| extent as usize).collect();
        tensors.push(Tensor { name, format, shape, offset, bytes, file: number });
        end += bytes;
    }
    if end < left {
        let fault = SafetensorsFault::Unaccounted { bytes: left - end };
        return Err(fault.in_file(file, Subject::Data.at(data_offset + end)));
    }
    Ok(Header { tensors, notes })
}

/// The JSON of the header: the header length is checked against the file first.
fn header_bytes(file: &FileBytes) -> Result<&[u8], Error> {
    let at_start = |fault: SafetensorsFault| fault.in_file(file, Subject::Header.at(0));
    let Some((length, rest)) = file.bytes().split_first_chunk() else {
        return Err(at_start(SafetensorsFault::NoHeaderLength { file: file.len() }));
    };
    let (length, left) = (u64::from_le_bytes(*length), rest.len() as u64);
    if length > left.min(LONGEST_HEADER) {
        let fault = SafetensorsFault::HeaderLength { length, left, most: LONGEST_HEADER };
        return Err(at_start(fault));
    }
    Ok(&rest[..length as usize])
}

/// Where in `json` the error was found, in bytes from its start.
fn position(json: &[u8], error: &serde_json::Error) -> u64 {
    let lines = json.split_inclusive(|&byte| byte == b'\n');
    let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    (before + error.column().saturating_sub(1)) as u64
}

/// The format and the bytes of a tensor whose data must start at offset `expected`, with `left` bytes
/// of data in the file.
fn check(info: &Info, expected: u64, left: u64) -> Result<(Format, u64), SafetensorsFault> {
    let elements =
        info.shape.iter().try_fold(1, |product: u64, &extent| product.checked_mul(extent));
    let bits = elements.and_then(|elements| elements.checked_mul(info.dtype.bitsize() as u64));
    let Some(bits) = bits else {
        return Err(SafetensorsFault::TooLarge { shape: info.shape.clone() });
    };
    let (bytes, (begin, end)) = (bits.div_ceil(8), info.data_offsets);
    if end.checked_sub(begin) != Some(bytes) {
        return Err(SafetensorsFault::Span { begin, end, expected: bytes });
    }
    if begin != expected {
        return Err(SafetensorsFault::Begin { begin, expected });
    }
    if end > left {
        return Err(SafetensorsFault::BehindEnd { end, left });
    }
    Ok((format(info.dtype)?, bytes))
}

fn format(dtype: Dtype) -> Result<Format, SafetensorsFault> {
    match dtype {
        Dtype::F32 => Ok(Format::F32),
        Dtype::F16 => Ok(Format::F16),
        Dtype::BF16 => Ok(Format::Bf16),
        found => Err(SafetensorsFault::Dtype { found }),
    }
}

/// The lines of a header in the order of the file.
#[derive(Default)]
struct Lines {
    infos: Vec<(String, Info)>,
    notes: Vec<(String, String)>,
}

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LinesVisitor;
        impl<'de> Visitor<'de> for LinesVisitor {
            type Value = Lines;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a map of tensor names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Lines, A::Error> {
                let mut seen = HashSet::new();
                let mut lines = Lines::default();
                while let Some(name) = map.next_key::<String>()? {
                    if !seen.insert(name.clone()) {
                        return Err(A::Error::custom(format_args!("{name:?} occurs twice")));
                    }
                    if name == NOTES {
                        lines.notes = map.next_value::<UniqueKeys<String>>()?.0;
                    } else {
                        lines.infos.push((name, map.next_value()?));
                    }
                }
                Ok(lines)
            }
        }
        deserializer.deserialize_map(LinesVisitor)
    }
}

/// A JSON object as pairs in file order; a key that occurs twice is an error.
pub(super) struct UniqueKeys<V>(pub(super) Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for UniqueKeys<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for PairsVisitor<V> {
            type Value = UniqueKeys<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UniqueKeys<V>, A::Error> {
                let mut seen = HashSet::new();
                let mut pairs = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    if !seen.insert(key.clone()) {
                        return Err(A::Error::custom(format_args!("{key:?} occurs twice")));
                    }
                    pairs.push((key, map.next_value()?));
                }
                Ok(UniqueKeys(pairs))
            }
        }
        deserializer.deserialize_map(PairsVisitor(PhantomData))
    }
}
