//! Bringing an oracle onto this machine, and knowing that what was brought is still there.
//!
//! The installation is `oracles/NAME-VERSION-HASH` in the cache, where HASH digests what decides the
//! installed bytes: the registry file's package with its build, its lock or its image. It holds the
//! installed files and `manifest.json`, which lists them. It appears by one rename; until then
//! everything is in a work folder that a later run continues.

use std::path::{Path, PathBuf};

use crate::digest::sha256_bytes;
use crate::place::{self, Lock, PlaceError};
use crate::registry::{OracleSpec, Provisioner};
use crate::{Home, Progress, Result};

mod build;
mod bundle;
mod container;
mod error;
mod globs;
mod manifest;
mod python;
mod source;
mod step;
mod tools;
mod tree;
mod unpack;
mod venv;

pub use bundle::{Bundle, Part, pack, unpack as unpack_bundle};
pub use container::{EngineClient, find_engine, image_reference};
pub use error::ProvisionError;
pub use manifest::{InstalledFile, Manifest};
pub use python::Python;

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
    /// The installed tree of a `[venv]`, for PYTHONPATH.
    pub fn site_dir(&self) -> PathBuf {
        self.dir.join("site")
    }

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

/// Where the oracle is installed, when it is; its files are not looked at.
pub fn installed(home: &Home, spec: &OracleSpec) -> Option<PathBuf> {
    Some(folder(home, spec)).filter(|dir| dir.is_dir())
}

/// The oracle, when it is provisioned and every installed file is the one its manifest lists.
pub fn provisioned(
    home: &Home,
    spec: &OracleSpec,
    progress: Progress,
) -> Result<Option<Provisioned>> {
    let dir = folder(home, spec);
    if let Some(Provisioner::Attach(_)) = spec.declared.provisioner() {
        // Nothing of it is here, so there is nothing to verify; its standing says so.
        let manifest = Manifest::of_nothing(spec);
        return Ok(Some(Provisioned { spec: spec.clone(), dir, manifest }));
    }
    if !dir.is_dir() {
        return Ok(None);
    }
    let manifest = Manifest::read_verified(&dir, progress)?;
    Ok(Some(Provisioned { spec: spec.clone(), dir, manifest }))
}

/// The oracle, installed when it is not provisioned yet: minutes, and continued where it was cut.
pub fn provision(home: &Home, spec: &OracleSpec, progress: Progress) -> Result<Provisioned> {
    let dir = folder(home, spec);
    let _lock = Lock::acquire(&dir, progress)?;
    if let Some(provisioned) = provisioned(home, spec, progress)? {
        return Ok(provisioned);
    }
    install(home, spec, &dir, progress)?;
    let manifest = Manifest::read(&dir)?;
    Ok(Provisioned { spec: spec.clone(), dir, manifest })
}

fn install(
    home: &Home,
    spec: &OracleSpec,
    dir: &Path,
    progress: Progress,
) -> Result<(), ProvisionError> {
    let nothing = || {
        let (name, path) = (spec.name.clone(), spec.path.clone());
        ProvisionError::NothingToInstall { name, path }
    };
    let work = place::beside(dir, ".work");
    place::create_dir(&work)?;
    let stage = match (spec.declared.provisioner(), &spec.lock) {
        (Some(Provisioner::Build(build)), _) => source::install(home, spec, build, &work, progress),
        (Some(Provisioner::Venv(venv)), Some(lock)) => {
            venv::install(home, spec, (venv, lock), &work, progress)
        }
        (Some(Provisioner::Container(container)), _) => {
            container::install(spec, container, &work, progress)
        }
        _ => Err(nothing()),
    }?;
    place::rename(&stage, dir)?;
    // Everything of use is installed. What cannot be removed costs space and nothing else.
    if let Err(error) = place::remove(&work) {
        progress.note(&error.to_string());
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), PlaceError> {
    if let Some(dir) = to.parent() {
        place::create_dir(dir)?;
    }
    std::fs::copy(from, to).map(|_| ()).map_err(|error| PlaceError::new("write", to, error))
}

/// Where the oracle is installed once it is. The pin is part of the name, so that a moved pin is another folder.
pub fn folder(home: &Home, spec: &OracleSpec) -> PathBuf {
    let declared = &spec.declared;
    let name = format!("{}-{}-{}", spec.name, declared.package.version, &spec_sha256(spec)[..12]);
    home.cache.join("oracles").join(name)
}

/// Digest of what decides the installed bytes.
fn spec_sha256(spec: &OracleSpec) -> String {
    let declared = &spec.declared;
    let package = &declared.package;
    // Strings, lists and sorted maps always serialise.
    let bytes = match (&declared.venv, &declared.container) {
        (Some(venv), _) => {
            let lock = spec.lock.as_ref().map(|lock| lock.text.as_str());
            serde_json::to_vec(&(package, venv, lock))
        }
        (None, Some(container)) => serde_json::to_vec(&(package, container)),
        (None, None) => serde_json::to_vec(&(package, &declared.build)),
    };
    sha256_bytes(&bytes.unwrap_or_default())
}
