//! Building an oracle from its pinned source, and knowing that what was built is still there.
//!
//! The installation is `oracles/NAME-VERSION-HASH` in the cache, where HASH digests the package
//! and the build of the registry file: executables in `bin/`, source files that gates use in
//! `source/`, and `manifest.json`. It appears by one rename; until then everything is in a work
//! folder that a later run continues.

use std::path::{Path, PathBuf};

use crate::digest::sha256_bytes;
use crate::place::{self, Lock, PlaceError};
use crate::registry::{Build, OracleSpec};
use crate::{Home, Progress, Result};

mod build;
mod error;
mod manifest;
mod tools;
mod unpack;

pub use error::ProvisionError;
pub use manifest::{InstalledFile, Manifest};

/// An oracle whose installed files were verified against their manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provisioned {
    /// What was asked for.
    pub spec: OracleSpec,
    /// The installation.
    pub dir: PathBuf,
    /// What is installed.
    pub manifest: Manifest,
}

impl Provisioned {
    /// The source files that gates use, at their paths inside the source tree.
    pub fn source_dir(&self) -> PathBuf {
        self.dir.join("source")
    }

    /// The vocabularies of the source tree: `ggml-vocab-*.gguf` with their `.inp` and `.out`.
    pub fn vocabularies_dir(&self) -> PathBuf {
        self.source_dir().join("models")
    }

    /// An installed executable.
    pub fn executable(&self, name: &str) -> PathBuf {
        self.dir.join("bin").join(name)
    }

    /// The manifest's digest of an executable.
    pub fn executable_sha256(&self, name: &str) -> Option<&str> {
        let path = format!("bin/{name}");
        let file = self.manifest.files.iter().find(|file| file.path == path)?;
        Some(&file.sha256)
    }
}

/// The oracle, when it is provisioned and every installed file is the one its manifest lists.
pub fn provisioned(home: &Home, spec: &OracleSpec) -> Result<Option<Provisioned>> {
    let dir = dir(home, spec);
    if !dir.is_dir() {
        return Ok(None);
    }
    let manifest = Manifest::read_verified(&dir)?;
    Ok(Some(Provisioned { spec: spec.clone(), dir, manifest }))
}

/// The oracle, built when it is not provisioned yet: minutes, and continued where it was cut.
pub fn provision(home: &Home, spec: &OracleSpec, progress: Progress) -> Result<Provisioned> {
    let Some(build) = &spec.declared.build else {
        let (name, path) = (spec.name.clone(), spec.path.clone());
        return Err(ProvisionError::NoBuild { name, path }.into());
    };
    let dir = dir(home, spec);
    let _lock = Lock::acquire(&dir, progress)?;
    if let Some(provisioned) = provisioned(home, spec)? {
        return Ok(provisioned);
    }
    install(home, spec, build, &dir, progress)?;
    let manifest = Manifest::read_verified(&dir)?;
    Ok(Provisioned { spec: spec.clone(), dir, manifest })
}

fn install(
    home: &Home,
    spec: &OracleSpec,
    build: &Build,
    dir: &Path,
    progress: Progress,
) -> Result<(), ProvisionError> {
    let work = place::beside(dir, ".work");
    place::create_dir(&work)?;
    let unpacked = work.join("unpacked");
    if !unpacked.is_dir() {
        let archive = spec.declared.package.fetch(home, progress)?;
        unpack::unpack(&archive, &unpacked, progress)?;
    }
    let source = unpacked.join(&build.source);
    if let Some(commit) = &build.commit {
        check_commit(&unpacked.join(&commit.file), &commit.sha)?;
    }
    let tools = tools::find(home, build, progress)?;
    let built = build::build(&build::Plan {
        name: &spec.name,
        spec: build,
        source: &source,
        dir: &work.join("build"),
        log: &work.join("build.log"),
        tools: &tools,
        progress,
    })?;
    let stage = work.join("stage");
    place::remove(&stage)?;
    manifest::stage(spec, build, &source, &work.join("build"), &stage, built)?;
    copy(&work.join("build.log"), &stage.join("build.log"))?;
    place::rename(&stage, dir)?;
    // Everything of use is installed. What cannot be removed costs space and nothing else.
    if let Err(error) = place::remove(&work) {
        progress.note(&error.to_string());
    }
    Ok(())
}

/// The source names its own commit: it must be the pinned one.
fn check_commit(file: &Path, expected: &str) -> Result<(), ProvisionError> {
    let found =
        std::fs::read_to_string(file).map_err(|error| PlaceError::new("read", file, error))?;
    if found.trim() == expected {
        return Ok(());
    }
    Err(ProvisionError::Commit {
        file: file.to_path_buf(),
        expected: expected.to_owned(),
        found: found.trim().to_owned(),
    })
}

fn copy(from: &Path, to: &Path) -> Result<(), PlaceError> {
    if let Some(dir) = to.parent() {
        place::create_dir(dir)?;
    }
    std::fs::copy(from, to).map(|_| ()).map_err(|error| PlaceError::new("write", to, error))
}

fn dir(home: &Home, spec: &OracleSpec) -> PathBuf {
    let declared = &spec.declared;
    let name = format!("{}-{}-{}", spec.name, declared.package.version, &spec_sha256(spec)[..12]);
    home.cache.join("oracles").join(name)
}

/// Digest of what decides the installed bytes: the package and the build.
fn spec_sha256(spec: &OracleSpec) -> String {
    let decisive = (&spec.declared.package, &spec.declared.build);
    // Strings, lists and sorted maps always serialise.
    sha256_bytes(&serde_json::to_vec(&decisive).unwrap_or_default())
}
