//! Pinned checkpoints: `oracles/checkpoints/NAME.toml`, each with exactly one source.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::spec::{self, SpecError};
use crate::{Home, Progress, Result};

mod error;

pub use error::CheckpointError;

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

/// Where a checkpoint comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A file inside a package of a package index.
    Package(PackageSource),
    /// Files of a Hugging Face repository at a revision.
    Hub(HubSource),
    /// A file or folder of this machine.
    Local(LocalSource),
    /// Random weights for an architecture, the same bytes everywhere.
    Synthetic(SyntheticSource),
}

/// `[package]`: a member of a package's archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PackageSource {
    /// The package and its archive.
    pub archive: crate::package::Package,
    /// Path inside the archive.
    pub member: String,
    /// sha256 of the member.
    pub sha256: String,
    /// Size of the member.
    pub bytes: u64,
}

/// `[hub]`: a repository at a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HubSource {
    /// `owner/name`.
    pub repository: String,
    /// The commit, 40 hexadecimal digits.
    pub revision: String,
    /// The hub; the public one when absent.
    pub endpoint: Option<String>,
    /// The files that make the checkpoint.
    pub file: Vec<HubFile>,
}

/// `[[hub.file]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubFile {
    /// Path inside the repository.
    pub path: String,
    /// sha256 of its bytes.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

/// `[local]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalSource {
    /// A file; relative to the workspace's root.
    pub path: PathBuf,
    /// sha256 of its bytes.
    pub sha256: String,
}

/// `[synthetic]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyntheticSource {
    /// The architecture in the keys of a Hugging Face `config.json`.
    pub config: serde_json::Map<String, serde_json::Value>,
    /// Seed of the generator.
    pub seed: u64,
    /// Standard deviation of the weights.
    pub std: f64,
    /// sha256 of `model.safetensors`.
    pub sha256: String,
}

/// A checkpoint that is here, with its bytes verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of its spec.
    pub name: String,
    /// The file or folder to give to `plumb` and to oracles.
    pub path: PathBuf,
    /// sha256 of the file; of the weights for a synthetic one; of the list of files' digests for
    /// a folder.
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
        Ok(Self::parse(name, path, &text)?)
    }

    fn parse(_name: &str, _path: PathBuf, _text: &str) -> Result<Self, SpecError> {
        todo!()
    }
}

/// The checkpoint, when the cache holds it and its bytes are the pinned ones. No network.
pub fn resident(_home: &Home, _spec: &CheckpointSpec) -> Result<Option<Checkpoint>> {
    todo!()
}

/// The checkpoint, fetched when it is not resident.
pub fn fetch(_home: &Home, _spec: &CheckpointSpec, _progress: Progress) -> Result<Checkpoint> {
    todo!()
}
