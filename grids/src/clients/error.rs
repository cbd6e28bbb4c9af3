//! Why a comparison of clients could not be run. What one client does wrong is an outcome of its leg, not an error.

use std::path::PathBuf;

use crate::mock::MockError;

/// Why a comparison of clients could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ClientsError {
    /// A file or folder.
    #[error("{}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not a spec, or not one that can be run.
    #[error("{}: {message}", path.display())]
    Spec {
        /// The spec, relative to the workspace root.
        path: PathBuf,
        /// What is wrong and where.
        message: String,
    },
    /// The folder holds the legs of something else.
    #[error("{} is of another comparison: {key} is {found}, expected {expected}", path.display())]
    Folder {
        /// The file that says so.
        path: PathBuf,
        /// What differs.
        key: &'static str,
        /// What stands in it.
        found: String,
        /// What was to be run.
        expected: String,
    },
    /// A leg that was kept is no leg.
    #[error("{}: {source}, expected a leg", path.display())]
    Leg {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A client asked for by name is not in the spec.
    #[error("no client named {name:?}, expected one of {expected}")]
    Client {
        /// The name.
        name: String,
        /// The names there are.
        expected: String,
    },
    /// A process or thread could not be started, or bound to its core.
    #[error("{action}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// The mock.
    #[error(transparent)]
    Mock(#[from] MockError),
    /// Ctrl-C.
    #[error("interrupted; what was measured is kept, the same command goes on")]
    Interrupted,
}
