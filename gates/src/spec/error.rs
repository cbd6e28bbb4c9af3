//! Why a spec could not be used.

use std::path::PathBuf;

/// Why a spec could not be used.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// No file of that name.
    #[error("no gate named `{name}`: {path} does not exist (`gate list` names them all)")]
    Unknown {
        /// The name asked for.
        name: String,
        /// Where its spec would be.
        path: PathBuf,
    },
    /// The file could not be read.
    #[error("cannot read {path}")]
    Read {
        /// The spec.
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
    /// A case is named that the gate's inputs do not have.
    #[error(
        "gates/specs/{gate}.toml:{line}: {key} = {found:?} is no case of the inputs, which have {}",
        .known.join(", ")
    )]
    NoSuchCase {
        /// The gate.
        gate: String,
        /// The line that names it, from 1.
        line: usize,
        /// The key that names it.
        key: &'static str,
        /// The name.
        found: String,
        /// The cases that there are.
        known: Vec<String>,
    },
    /// The parts of the spec do not fit together.
    #[error("{path}: {message}")]
    Inconsistent {
        /// The spec, relative to the workspace root.
        path: PathBuf,
        /// Which keys, and what to do.
        message: &'static str,
    },
}
