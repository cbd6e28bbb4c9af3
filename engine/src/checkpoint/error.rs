//! What can be wrong with a checkpoint: the file, the place in it, and the fault.

use std::fmt;
use std::path::PathBuf;

use super::gguf::GgufFault;
use super::safetensors::SafetensorsFault;

/// A checkpoint that cannot be used, and why.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was attempted: "find", "open", "map", "read".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The path is a folder, a device or a pipe where a file is needed.
    #[error("{}: not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// Neither a GGUF file nor a safetensors file or folder.
    #[error("{}: not a checkpoint: {found}; give a .gguf file, a .safetensors file, or a folder with \
             model.safetensors or model.safetensors.index.json", path.display())]
    NotACheckpoint {
        /// The path.
        path: PathBuf,
        /// What is there instead.
        found: String,
    },
    /// A folder with a single file and with an index of several.
    #[error("{}: the folder has both model.safetensors and model.safetensors.index.json: remove the one \
             that is not meant", path.display())]
    AmbiguousFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A GGUF file breaks the format, or says what this engine does not support.
    #[error("{}: {place}: {fault}", path.display())]
    Gguf {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        place: Place,
        /// What is wrong there.
        fault: GgufFault,
    },
    /// A safetensors file or its index breaks the format, or says what this engine does not support.
    #[error("{}: {place}: {fault}", path.display())]
    Safetensors {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        place: Place,
        /// What is wrong there.
        fault: SafetensorsFault,
    },
    /// A metadata key that the model needs is not in the file.
    #[error("{}: key {key:?} is missing (a value of type {expected} is needed)", path.display())]
    MissingKey {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The type that was asked for.
        expected: &'static str,
    },
    /// A tensor that the model needs is not in the checkpoint.
    #[error("{}: tensor {name:?} is missing", path.display())]
    MissingTensor {
        /// The file or folder.
        path: PathBuf,
        /// The tensor's name.
        name: String,
    },
}

/// A place in a file: the thing being read, and the byte where it was read if that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The thing being read.
    pub subject: Subject,
    /// Byte offset from the start of the file.
    pub offset: Option<u64>,
}

/// The thing being read when a fault was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The fixed fields at the start of a file, or the JSON of a safetensors file.
    Header,
    /// The JSON that says which file of a folder holds which tensor.
    Index,
    /// The name of the n-th metadata key (counted from 0), not yet known.
    KeyNumber(u64),
    /// The value of a metadata key.
    Key(String),
    /// The name of the n-th tensor (counted from 0), not yet known.
    TensorNumber(u64),
    /// What the header says of a tensor.
    Tensor(String),
    /// The bytes after the header.
    Data,
}

impl Subject {
    /// This thing at a byte of the file.
    pub fn at(self, offset: u64) -> Place {
        Place { subject: self, offset: Some(offset) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Subject::Header => write!(f, "header")?,
            Subject::Index => write!(f, "index")?,
            Subject::KeyNumber(number) => write!(f, "name of key {number}")?,
            Subject::Key(key) => write!(f, "key {key:?}")?,
            Subject::TensorNumber(number) => write!(f, "name of tensor {number}")?,
            Subject::Tensor(name) => write!(f, "tensor {name:?}")?,
            Subject::Data => write!(f, "tensor data")?,
        }
        match self.offset {
            Some(offset) => write!(f, " at byte {offset}"),
            None => Ok(()),
        }
    }
}
