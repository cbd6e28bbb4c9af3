//! The ways in which a safetensors file or its index can be wrong.

use std::path::PathBuf;

use safetensors::Dtype;

use super::super::error::{Error, Place};
use super::super::file_bytes::FileBytes;

/// What is wrong at a place of a safetensors file or its index.
#[derive(Debug, thiserror::Error)]
pub enum SafetensorsFault {
    /// The file is shorter than the header length it should start with.
    #[error("the file has {file} bytes, fewer than the 8 of the header length")]
    NoHeaderLength {
        /// The length of the file.
        file: u64,
    },
    /// The header is longer than the file, or than the format allows.
    #[error(
        "the header length is {length}: the file has {left} more bytes, the format allows {most}"
    )]
    HeaderLength {
        /// The length found.
        length: u64,
        /// How many bytes follow the header length.
        left: u64,
        /// The most that the format allows.
        most: u64,
    },
    /// The header, or the index, is not the JSON it should be.
    #[error("not the expected JSON: {0}")]
    Json(serde_json::Error),
    /// A dtype that this engine does not read.
    #[error("dtype {found} is not supported: F32, F16 and BF16 are")]
    Dtype {
        /// The dtype found.
        found: Dtype,
    },
    /// A tensor whose size cannot be represented.
    #[error("the shape {shape:?} has more elements than can be counted")]
    TooLarge {
        /// The shape found.
        shape: Vec<u64>,
    },
    /// Data offsets that do not fit the shape and the dtype.
    #[error(
        "data_offsets {begin}..{end} are not the {expected} bytes that its shape and dtype take"
    )]
    Span {
        /// The first offset found.
        begin: u64,
        /// The second offset found.
        end: u64,
        /// The bytes of the shape and dtype.
        expected: u64,
    },
    /// Data that overlap the previous tensor's or leave a gap after it.
    #[error(
        "data start at offset {begin}, expected {expected}: tensors follow each other without gaps"
    )]
    Begin {
        /// The first offset found.
        begin: u64,
        /// Where the previous tensor ends.
        expected: u64,
    },
    /// A tensor whose data end behind the end of the file.
    #[error("its data end at offset {end}, the file has {left} bytes after its header")]
    BehindEnd {
        /// The second offset found.
        end: u64,
        /// The bytes after the header.
        left: u64,
    },
    /// Bytes after the last tensor's data that nothing in the header speaks of.
    #[error("{bytes} bytes follow the last tensor's data")]
    Unaccounted {
        /// How many bytes.
        bytes: u64,
    },
    /// A tensor that another file of the folder has too.
    #[error("the tensor occurs twice: first in {}", first.display())]
    DuplicateTensor {
        /// The file of its first occurrence.
        first: PathBuf,
    },
    /// An index entry whose file is not a plain file name.
    #[error("the index places it in {file:?}: a plain file name ending in .safetensors is needed")]
    ShardName {
        /// The file name found.
        file: String,
    },
    /// An index entry whose file is not in the folder.
    #[error("the index places it in {file:?}, which is not a file of the folder")]
    NoShard {
        /// The file that the index names.
        file: String,
    },
    /// An index entry for a tensor that its file does not have.
    #[error("the index places it in {file:?}, which has no such tensor")]
    NotInShard {
        /// The file that the index names.
        file: String,
    },
    /// A tensor that is in a file and not in the index.
    #[error("it is in {} and not in the index", file.display())]
    NotInIndex {
        /// The file that has it.
        file: PathBuf,
    },
}

impl SafetensorsFault {
    /// The error for this fault at a place of `file`.
    pub(super) fn in_file(self, file: &FileBytes, place: Place) -> Error {
        Error::Safetensors { path: file.path().to_path_buf(), place, fault: self }
    }
}
