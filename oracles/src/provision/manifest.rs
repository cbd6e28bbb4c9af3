//! What is installed: every file with its digest, written once and checked before each use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ProvisionError, globs, tree};
use crate::Progress;
use crate::place;
use crate::registry::{Build, OracleSpec};

const NAME: &str = "manifest.json";
/// Not an answer of the oracle, so not in the manifest.
const BUILD_LOG: &str = "build.log";

/// `manifest.json` of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of this layout.
    pub schema_version: u32,
    /// Registry name.
    pub oracle: String,
    /// Version of the package.
    pub version: String,
    /// sha256 of the package's archive.
    pub source_sha256: String,
    /// The source's commit, when it names one.
    pub commit: Option<String>,
    /// When it was built: UTC, RFC 3339.
    pub built_at: String,
    /// First line of `--version` of what built or installed it; the digest of a lock.
    pub tools: BTreeMap<String, String>,
    /// Every installed file.
    pub files: Vec<InstalledFile>,
}

/// One installed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstalledFile {
    /// Path inside the installation, with `/`.
    pub path: String,
    /// sha256 of its bytes.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

impl Manifest {
    /// Reads the manifest of `dir` without looking at the files.
    pub fn read(dir: &Path) -> Result<Self, ProvisionError> {
        let path = dir.join(NAME);
        let refuse = |reason: String| ProvisionError::Manifest { path: path.clone(), reason };
        let bytes = fs::read(&path).map_err(|error| refuse(error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))
    }

    /// Reads the manifest of `dir`, and refuses when any file differs, is missing or is too many.
    pub fn read_verified(dir: &Path, progress: Progress) -> Result<Self, ProvisionError> {
        let manifest = Self::read(dir)?;
        let listed: BTreeMap<PathBuf, &InstalledFile> =
            manifest.files.iter().map(|file| (dir.join(&file.path), file)).collect();
        let beside = [dir.join(NAME), dir.join(BUILD_LOG)];
        let present = tree::files_under(dir)?;
        let added =
            present.iter().find(|path| !listed.contains_key(*path) && !beside.contains(path));
        if let Some(path) = added {
            return Err(ProvisionError::Unlisted { path: path.clone(), dir: dir.to_path_buf() });
        }
        let paths: Vec<PathBuf> = listed.keys().cloned().collect();
        let label = format!("checking {} {}", manifest.oracle, manifest.version);
        let found = tree::hashed(&paths, &label, progress)?;
        for ((path, file), found) in listed.into_iter().zip(found) {
            let found = found.map_or("nothing".to_owned(), |(sha256, _)| sha256);
            if found != file.sha256 {
                let (expected, dir) = (file.sha256.clone(), dir.to_path_buf());
                return Err(ProvisionError::Changed { path, expected, found, dir });
            }
        }
        Ok(manifest)
    }

    /// The manifest of what is in `stage`, of an oracle that is being installed.
    pub(super) fn of_stage(
        spec: &OracleSpec,
        stage: &Path,
        tools: BTreeMap<String, String>,
        progress: Progress,
    ) -> Result<Self, ProvisionError> {
        let paths = tree::files_under(stage)?;
        let found = tree::hashed(&paths, &format!("listing {}", spec.name), progress)?;
        let files = paths.iter().zip(found).filter_map(|(path, found)| {
            let (sha256, bytes) = found?;
            let path = path.strip_prefix(stage).unwrap_or(path).display().to_string();
            Some(InstalledFile { path, sha256, bytes })
        });
        let commit = spec.declared.build.as_ref().and_then(|build| build.commit.as_ref());
        Ok(Self {
            schema_version: 1,
            oracle: spec.name.clone(),
            version: spec.declared.package.version.clone(),
            source_sha256: spec.declared.package.archive_sha256.clone(),
            commit: commit.map(|commit| commit.sha.clone()),
            built_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            tools,
            files: files.collect(),
        })
    }

    /// The manifest of an oracle that is not ours to install.
    pub(super) fn of_nothing(spec: &OracleSpec) -> Self {
        Self {
            schema_version: 1,
            oracle: spec.name.clone(),
            version: spec.declared.package.version.clone(),
            source_sha256: spec.declared.package.archive_sha256.clone(),
            commit: None,
            built_at: String::new(),
            tools: BTreeMap::new(),
            files: Vec::new(),
        }
    }

    /// Writes it into `dir`.
    pub(super) fn write(&self, dir: &Path) -> Result<(), ProvisionError> {
        let path = dir.join(NAME);
        let json = serde_json::to_vec_pretty(self).map_err(|error| ProvisionError::Manifest {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        Ok(place::write_whole(&path, &json)?)
    }
}

/// Copies what is installed from `source` and `built` into `stage`, and writes the manifest.
pub(super) fn stage(
    (spec, build): (&OracleSpec, &Build),
    source: &Path,
    built: &Path,
    stage: &Path,
    tools: BTreeMap<String, String>,
    progress: Progress,
) -> Result<(), ProvisionError> {
    for target in &build.targets {
        super::copy(&built.join("bin").join(target), &stage.join("bin").join(target))?;
    }
    for relative in globs::chosen(source, "build.files", &build.files)? {
        super::copy(&source.join(&relative), &stage.join("source").join(&relative))?;
    }
    Manifest::of_stage(spec, stage, tools, progress)?.write(stage)
}
