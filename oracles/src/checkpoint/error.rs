//! What can be wrong with a checkpoint.

use std::path::PathBuf;

/// A checkpoint could not be fetched, or is not what its pin says.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The bytes are not the pinned ones.
    #[error("{path}: expected sha256 {expected}, found {found}; the file is set aside as {aside}", path = .path.display(), aside = .aside.display())]
    Hash {
        /// What was checked.
        path: PathBuf,
        /// The pin.
        expected: String,
        /// The digest of the bytes.
        found: String,
        /// Where the wrong bytes are kept for a look.
        aside: PathBuf,
    },
}
