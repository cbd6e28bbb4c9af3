//! Why a grid's spec could not be used.

use std::path::PathBuf;

/// Why a grid's spec could not be used.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// No file of that name.
    #[error("no grid named `{name}`: {path} does not exist (`grid list` names them all)")]
    Unknown {
        /// The name asked for.
        name: String,
        /// Where its spec would be.
        path: PathBuf,
    },
    /// The file or the folder could not be read.
    #[error("cannot read {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is not a spec; the message carries line, column and caret.
    #[error("{path}: {message}")]
    Parse {
        /// The spec, relative to the workspace root.
        path: PathBuf,
        /// What is wrong and where.
        message: String,
    },
    /// The parts of the spec do not fit together.
    #[error("{path}: {message}")]
    Inconsistent {
        /// The spec, relative to the workspace root.
        path: PathBuf,
        /// Which keys, what was expected and found.
        message: String,
    },
}
