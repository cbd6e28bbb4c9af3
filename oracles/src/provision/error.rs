//! What can go wrong while an oracle is built, and after.

use std::path::PathBuf;

use crate::package::PackageError;
use crate::place::PlaceError;

/// An oracle could not be built, or its installed files differ from its manifest.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// The oracle is not ours to install.
    #[error("oracle {name} cannot be provisioned: {path} says that it already runs", path = .path.display())]
    NothingToInstall {
        /// Registry name.
        name: String,
        /// Its file.
        path: PathBuf,
    },
    /// The source package could not be fetched.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The source package holds something that is not unpacked.
    #[error("{archive}: refused member {member}: {reason}", archive = .archive.display())]
    Member {
        /// The archive.
        archive: PathBuf,
        /// Its member.
        member: String,
        /// Why.
        reason: &'static str,
    },
    /// The source package is not a readable archive.
    #[error("cannot read {archive}", archive = .archive.display())]
    Archive {
        /// The archive.
        archive: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The source's own commit is not the pinned one.
    #[error("{file}: expected commit {expected}, found {found}", file = .file.display())]
    Commit {
        /// Where the source names it.
        file: PathBuf,
        /// The pin.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A tool is missing and has no version to install.
    #[error("no {tool} on {path} and none under build.tools: install it or pin a version")]
    NoTool {
        /// `cmake` or `ninja`.
        tool: String,
        /// The searched PATH.
        path: String,
    },
    /// No interpreter of the exact minor version.
    #[error(
        "no Python {wanted}: nothing named python{wanted} on PATH or among pyenv's versions answers as {wanted} ({found}); install it"
    )]
    NoPython {
        /// The minor version.
        wanted: String,
        /// What each candidate did instead.
        found: String,
    },
    /// No container engine.
    #[error("no container engine on PATH: expected one of {wanted}; install it")]
    NoEngine {
        /// Their programs.
        wanted: String,
    },
    /// The container engine refused or failed.
    #[error("{command} failed: {status}: {message}")]
    Engine {
        /// The command line.
        command: String,
        /// How it ended.
        status: String,
        /// The last line that it said.
        message: String,
    },
    /// The container engine's image is not the pinned one.
    #[error("{engine} has no image {image} of digest {expected}: it says {found}")]
    Image {
        /// The engine.
        engine: String,
        /// The repository.
        image: String,
        /// The pin.
        expected: String,
        /// What it says.
        found: String,
    },
    /// A bundle is not what its manifest says, or is of another pin.
    #[error("{path}: expected {expected}, found {found}", path = .path.display())]
    Bundle {
        /// The part or the manifest.
        path: PathBuf,
        /// What must be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A child process cannot be started.
    #[error("cannot run {program}", program = .program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A step of the build failed; the build folder is kept and a later run continues.
    #[error("{step} failed: {status}; the end of {log}:\n{tail}", log = .log.display())]
    Step {
        /// Which.
        step: String,
        /// How it ended.
        status: String,
        /// Its whole output.
        log: PathBuf,
        /// The last lines of it.
        tail: String,
    },
    /// A glob of a registry file is not one, or matches nothing.
    #[error("key {key}: {glob:?}: {reason}")]
    Glob {
        /// The key.
        key: &'static str,
        /// The glob.
        glob: String,
        /// What is wrong.
        reason: String,
    },
    /// The manifest cannot be read.
    #[error("{path}: {reason}; remove the folder and provision again", path = .path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// An installed file is not the one that was built.
    #[error("{path}: expected sha256 {expected}, found {found}; remove {dir} and provision again", path = .path.display(), dir = .dir.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The manifest's digest.
        expected: String,
        /// The digest of what is there, or `nothing`.
        found: String,
        /// The installation.
        dir: PathBuf,
    },
    /// A file is beside the installed ones that was not built.
    #[error("{path} is not in the manifest; remove {dir} and provision again", path = .path.display(), dir = .dir.display())]
    Unlisted {
        /// The file.
        path: PathBuf,
        /// The installation.
        dir: PathBuf,
    },
    /// The file system refused.
    #[error(transparent)]
    Place(#[from] PlaceError),
}
