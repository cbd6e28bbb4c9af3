//! What can be wrong with a model's configuration.

use std::fmt;
use std::path::PathBuf;

use crate::checkpoint;

/// A configuration that cannot be used, and why.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The checkpoint's own metadata could not be read.
    #[error(transparent)]
    Checkpoint(#[from] checkpoint::Error),
    /// `config.json` or `generation_config.json` could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// `config.json` or `generation_config.json` is not a JSON object.
    #[error("{}: not a JSON object", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The parser's answer, with line and column.
        #[source]
        source: serde_json::Error,
    },
    /// A key that the model needs is absent.
    #[error("{}: key {key:?} is missing ({expected} is needed)", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What it would have to be.
        expected: &'static str,
    },
    /// A key has a value that is of the wrong type, or that is not supported.
    #[error("{}: key {key:?}{place} is {found}; {expected} is needed", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// Where its value is.
        place: ValuePlace,
        /// The value in the file.
        found: String,
        /// What is supported.
        expected: String,
    },
    /// Keys that are neither used nor on a list of ignored keys.
    #[error("{}: family {family:?} does not know the keys {keys:?}; what they ask for is not implemented", path.display())]
    UnknownKeys {
        /// The file.
        path: PathBuf,
        /// The family.
        family: &'static str,
        /// The keys, in the file's order.
        keys: Vec<String>,
    },
    /// No family has that name.
    #[error("{}: architecture {found:?} is not supported; supported: {}", path.display(), supported.join(", "))]
    Architecture {
        /// The file.
        path: PathBuf,
        /// The name in the file.
        found: String,
        /// The families that there are.
        supported: Vec<&'static str>,
    },
}

/// Where a value is in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValuePlace {
    /// On a line of a text, counted from 1.
    Line(usize),
    /// At a byte, from the start of the file.
    Byte(u64),
    /// Nowhere: the key is absent, or is no key but a tensor's name.
    Nowhere,
}

impl fmt::Display for ValuePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, " on line {line}"),
            Self::Byte(offset) => write!(f, " at byte {offset}"),
            Self::Nowhere => Ok(()),
        }
    }
}
