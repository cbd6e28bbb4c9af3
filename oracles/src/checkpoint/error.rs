//! What can be wrong with a checkpoint.

use std::path::PathBuf;

use crate::package::PackageError;
use crate::place::PlaceError;

/// A checkpoint could not be fetched, or is not what its pin says.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The bytes are not the pinned ones.
    #[error(
        "{path}: expected sha256 {expected}, found {found}{kept}",
        path = .path.display(),
        kept = .aside.as_ref().map(|aside| format!("; set aside as {}", aside.display())).unwrap_or_default()
    )]
    Hash {
        /// What was checked.
        path: PathBuf,
        /// The pin.
        expected: String,
        /// The digest of the bytes.
        found: String,
        /// Where the wrong bytes are kept for a look; a local file is left where it is.
        aside: Option<PathBuf>,
    },
    /// A size is not the pinned one.
    #[error("{what}: expected {expected} bytes, found {found}")]
    Bytes {
        /// What was measured.
        what: String,
        /// The pin.
        expected: u64,
        /// The size.
        found: u64,
    },
    /// The package could not be fetched.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The archive is not readable as a zip.
    #[error("cannot read {member} from {archive}", archive = .archive.display())]
    Archive {
        /// The archive.
        archive: PathBuf,
        /// The member.
        member: String,
        /// Why.
        #[source]
        source: zip::result::ZipError,
    },
    /// A hub did not give a file.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// A local checkpoint is not there.
    #[error("checkpoint {name}: there is no file {path} (key local.path of {spec})", path = .path.display(), spec = .spec.display())]
    Local {
        /// The checkpoint.
        name: String,
        /// The file that should be there.
        path: PathBuf,
        /// The checkpoint's TOML.
        spec: PathBuf,
    },
    /// What was just fetched is gone.
    #[error("{dir} changed while it was being fetched: fetch again", dir = .dir.display())]
    Vanished {
        /// The folder.
        dir: PathBuf,
    },
    /// What a converted checkpoint is made from, or with, cannot be had.
    #[error("checkpoint {name} cannot be converted")]
    Needed {
        /// The checkpoint.
        name: String,
        /// Why.
        #[source]
        source: Box<crate::Error>,
    },
    /// An oracle that converts is not here.
    #[error(
        "checkpoint {name} is converted with {oracle}, which is not provisioned: `gate oracle provision {oracle}`"
    )]
    NotProvisioned {
        /// The checkpoint.
        name: String,
        /// The oracle.
        oracle: String,
    },
    /// The converter failed.
    #[error("the converter of checkpoint {name} ended with {status}; the end of its log {log}:\n{tail}", log = .log.display())]
    Converter {
        /// The checkpoint.
        name: String,
        /// How it ended.
        status: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// The file system refused.
    #[error(transparent)]
    Place(#[from] PlaceError),
}

/// A hub did not give a file.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The endpoint is not an address.
    #[error("{endpoint:?} is not the address of a hub (key hub.endpoint)")]
    Endpoint {
        /// What is written.
        endpoint: String,
    },
    /// No client can be made, which is a fault of this machine's TLS set-up.
    #[error("cannot make an HTTP client")]
    Client(#[source] reqwest::Error),
    /// 401 or 403.
    #[error(
        "{url}: status {status}: the repository is private or gated; download it with the hub's own client and pin it as [local]"
    )]
    Gated {
        /// The address.
        url: String,
        /// The status.
        status: u16,
    },
    /// 404.
    #[error("{url}: status 404: no such repository, revision or file")]
    NotFound {
        /// The address.
        url: String,
    },
    /// 429, again and again.
    #[error(
        "{url}: status 429 after {attempts} attempts: the hub limits requests; try again later"
    )]
    Limited {
        /// The address.
        url: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// One redirect after another, or one to nowhere.
    #[error("{url}: its redirects lead nowhere")]
    Redirects {
        /// The address.
        url: String,
    },
    /// Any other status.
    #[error("{url}: status {status} after {attempts} attempts")]
    Status {
        /// The address.
        url: String,
        /// The status.
        status: u16,
        /// How often it was tried.
        attempts: u32,
    },
    /// The connection failed or was cut again and again without progress.
    #[error(
        "{url}: the connection failed {attempts} times at byte {at}; what came is kept, fetch again to resume"
    )]
    Connection {
        /// The address.
        url: String,
        /// How often it was tried.
        attempts: u32,
        /// How many bytes are kept.
        at: u64,
        /// The last failure; `None` when the answer just ended early.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The hub says something else about the file than the pin.
    #[error("{url}: {what}: expected {expected}, the hub says {found}")]
    Pin {
        /// The address.
        url: String,
        /// Which property.
        what: &'static str,
        /// The pin.
        expected: String,
        /// What the hub says.
        found: String,
    },
}
