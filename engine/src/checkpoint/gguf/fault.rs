//! The ways in which a GGUF file can be wrong.

use std::str::Utf8Error;

use kernels::Format;

use super::super::error::{Error, Subject};
use super::super::file_bytes::FileBytes;

/// What is wrong at a place of a GGUF file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GgufFault {
    /// The file ends before something that its header promises.
    #[error("the file ends inside {what}: {needed} bytes needed, {left} left")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// How many bytes it takes.
        needed: u64,
        /// How many the file still has.
        left: u64,
    },
    /// The file does not start with "GGUF".
    #[error("the magic is \"{}\", not \"GGUF\"", found.escape_ascii())]
    Magic {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// The file was written for a big-endian machine.
    #[error(
        "the file is big-endian (version {version}); only little-endian files are read: convert it \
             with gguf_convert_endian"
    )]
    BigEndian {
        /// The version, read in its byte order.
        version: u32,
    },
    /// The version is not one that is read.
    #[error("version {found} is not supported: 2 and 3 are")]
    Version {
        /// The version found.
        found: u32,
    },
    /// There cannot be that many things in the rest of the file.
    #[error(
        "{count} {what} cannot fit in the {left} bytes that are left: each takes at least {shortest}"
    )]
    Count {
        /// What is counted.
        what: &'static str,
        /// The count found.
        count: u64,
        /// The fewest bytes that one takes.
        shortest: u64,
        /// How many bytes the file still has.
        left: u64,
    },
    /// A name is empty or longer than the format allows.
    #[error("the name has {found} bytes: 1 to {longest} are allowed")]
    NameLength {
        /// Its length in bytes.
        found: u64,
        /// The longest allowed.
        longest: u64,
    },
    /// A string is not UTF-8.
    #[error("the string is not UTF-8: {0}")]
    NotUtf8(Utf8Error),
    /// A value type that the format does not have.
    #[error("value type {found} does not exist: 0 to 12 do")]
    ValueType {
        /// The type found.
        found: u32,
    },
    /// An array of arrays.
    #[error("an array of arrays is not supported")]
    NestedArray,
    /// A boolean that is neither 0 nor 1.
    #[error("a bool is {found}: 0 or 1 is allowed")]
    Bool {
        /// The byte found.
        found: u8,
    },
    /// A key that occurs twice.
    #[error("the key occurs twice: first at byte {first}")]
    DuplicateKey {
        /// Where the value of its first occurrence is.
        first: u64,
    },
    /// A value of another type than was asked for.
    #[error("expected {expected}, found {found}")]
    Type {
        /// The type that was asked for.
        expected: &'static str,
        /// The type in the file, for an array with its element type.
        found: String,
    },
    /// The alignment is not a power of two.
    #[error("the alignment is {found}: a power of two is needed")]
    Alignment {
        /// The alignment found.
        found: u32,
    },
    /// The file is one part of a split checkpoint.
    #[error(
        "the file is one of {files} parts of a split checkpoint: merge them first with \
             llama-gguf-split --merge"
    )]
    Split {
        /// How many parts there are.
        files: u16,
    },
    /// A tensor name that occurs twice.
    #[error("the tensor occurs twice: the first one's data are at byte {first}")]
    DuplicateTensor {
        /// Where the data of its first occurrence are.
        first: u64,
    },
    /// A tensor with no dimension, or with more than the format allows.
    #[error("{found} dimensions: 1 to {most} are allowed")]
    Dimensions {
        /// The count found.
        found: u32,
        /// The most allowed.
        most: u32,
    },
    /// An extent of zero.
    #[error("dimension {dimension} is 0")]
    EmptyDimension {
        /// Which one, counted from 0 in file order.
        dimension: usize,
    },
    /// A tensor whose size cannot be represented.
    #[error("the shape {extents:?} has more elements than can be counted")]
    TooLarge {
        /// The extents in file order.
        extents: Vec<u64>,
    },
    /// A tensor type that this engine does not read.
    #[error("{0}")]
    TensorType(kernels::Error),
    /// Rows that are not a whole number of blocks.
    #[error(
        "rows of {columns} elements are not a multiple of the {block} that a {format} block holds"
    )]
    RowLength {
        /// The storage format.
        format: Format,
        /// The row length in elements.
        columns: u64,
        /// The block length in elements.
        block: u64,
    },
    /// A tensor whose data are not where the previous tensor's end.
    #[error(
        "the data offset is {found}, expected {expected}: tensors follow each other at multiples of \
             the alignment {alignment}"
    )]
    TensorOffset {
        /// The offset found, relative to the start of tensor data.
        found: u64,
        /// Where the previous tensor ends, rounded up to the alignment.
        expected: u64,
        /// The file's alignment.
        alignment: u32,
    },
    /// A tensor whose data end behind the end of the file.
    #[error(
        "its {bytes} bytes of data start at byte {start} and end behind the file's {file} bytes"
    )]
    TensorBehindEnd {
        /// Where its data start, from the start of the file.
        start: u64,
        /// How many bytes they are.
        bytes: u64,
        /// The length of the file.
        file: u64,
    },
    /// Bytes after the last tensor's data that nothing in the header speaks of.
    #[error(
        "{bytes} bytes follow the last tensor's data: the tensor count is wrong, or something was \
             appended"
    )]
    Unaccounted {
        /// How many bytes.
        bytes: u64,
    },
}

impl GgufFault {
    /// This fault at a byte of the file.
    pub(super) fn at(self, offset: u64) -> Located {
        Located { offset, fault: self }
    }
}

/// A fault and the byte where it was found; what was being read is known one level up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Located {
    pub(super) offset: u64,
    pub(super) fault: GgufFault,
}

impl Located {
    /// The error for this fault, found in `file` while reading `subject`.
    pub(super) fn in_file(self, file: &FileBytes, subject: Subject) -> Error {
        Error::Gguf {
            path: file.path().to_path_buf(),
            place: subject.at(self.offset),
            fault: self.fault,
        }
    }
}
