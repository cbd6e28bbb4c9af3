//! What can be wrong with a store.

use std::io;
use std::path::{Path, PathBuf};

use crate::record::{RecordError, SCHEMA_VERSION};

/// What is wrong with a store or a file in it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// Torn, or never a record.
    #[error("{}: not JSON: torn, or not a record", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What the parser said, with its line.
        #[source]
        source: serde_json::Error,
    },
    /// Written by another version of this program.
    #[error("{}: schema_version {found}: this program reads {SCHEMA_VERSION}", .path.display())]
    SchemaVersion {
        /// The file.
        path: PathBuf,
        /// What stands there, or `missing`.
        found: String,
    },
    /// The content is not what the name says.
    #[error(
        "{}: its content hashes to {found}, its name says {expected}: changed after it was written",
        .path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// The hash in the name.
        expected: String,
        /// The hash of the content.
        found: String,
    },
    /// The same values in other bytes.
    #[error("{}: not in canonical form: changed after it was written", .path.display())]
    NotCanonical {
        /// The file.
        path: PathBuf,
    },
    /// A file in `runs/` that is named like nothing we write.
    #[error("{}: expected a name of the form DATE-GATE-HASH.json, equal to the record's id", .path.display())]
    Name {
        /// The file.
        path: PathBuf,
    },
    /// A known version with other fields.
    #[error("{}: not a record of schema version {SCHEMA_VERSION}", .path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// The field, from the parser.
        #[source]
        source: serde_json::Error,
    },
    /// A record that contradicts itself.
    #[error("{}: the record contradicts itself", .path.display())]
    Invalid {
        /// The file, or the gate before it has one.
        path: PathBuf,
        /// What contradicts what.
        #[source]
        source: RecordError,
    },
    /// A draft committed with the record of another gate.
    #[error("the draft was opened for gate {opened}, the record is of gate {found}")]
    OtherGate {
        /// The gate the draft was opened for.
        opened: String,
        /// The gate of the record.
        found: String,
    },
    /// A record cannot become JSON.
    #[error("the record of gate {gate} cannot be written as JSON")]
    Unwritable {
        /// The gate.
        gate: String,
        /// What the writer said.
        #[source]
        source: serde_json::Error,
    },
    /// An evidence entry whose path is not the one its hash gives.
    #[error("{}: evidence {name:?} at {found:?}: expected a path that its hash gives", .path.display())]
    EvidencePath {
        /// The record's file.
        path: PathBuf,
        /// The evidence's name.
        name: String,
        /// The path as written.
        found: String,
    },
    /// An unusable evidence name.
    #[error("evidence name {found:?}: expected letters, digits, '.', '-' and '_' only")]
    EvidenceName {
        /// The name as given.
        found: String,
    },
    /// Evidence that is kept outside the store is in none of the folders that were looked in.
    #[error(
        "{}: evidence {name:?} ({bytes} bytes, sha256 {sha256}) is kept outside and absent from {}",
        .path.display(), .looked.display()
    )]
    Absent {
        /// The record's file.
        path: PathBuf,
        /// The evidence's name.
        name: String,
        /// Its digest, the name it lies under.
        sha256: String,
        /// Its length.
        bytes: u64,
        /// Where it was looked for.
        looked: PathBuf,
    },
    /// Whole evidence that does not unpack.
    #[error("{}: {name} does not unpack", .path.display())]
    Packed {
        /// The file.
        path: PathBuf,
        /// The evidence's name.
        name: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A place that this program cannot read evidence from.
    #[error("{found}: expected a folder or a file:// address of one")]
    Place {
        /// The place as given.
        found: String,
    },
}

impl StoreError {
    /// The file that it is about, where it is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path, .. }
            | Self::Json { path, .. }
            | Self::SchemaVersion { path, .. }
            | Self::Changed { path, .. }
            | Self::NotCanonical { path }
            | Self::Name { path }
            | Self::Schema { path, .. }
            | Self::Invalid { path, .. }
            | Self::EvidencePath { path, .. }
            | Self::Packed { path, .. }
            | Self::Absent { path, .. } => Some(path),
            Self::OtherGate { .. }
            | Self::Unwritable { .. }
            | Self::EvidenceName { .. }
            | Self::Place { .. } => None,
        }
    }
}

/// An error of the operating system, with what was tried on which file.
pub(super) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { action, path, source }
}
