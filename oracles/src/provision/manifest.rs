//! What is installed: every file with its digest, written once and checked before each use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

use super::ProvisionError;
use crate::digest::sha256_file;
use crate::place::{self, PlaceError};
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
    /// Version of the source package.
    pub version: String,
    /// sha256 of the source package.
    pub source_sha256: String,
    /// The source's commit, when it names one.
    pub commit: Option<String>,
    /// When it was built: UTC, RFC 3339.
    pub built_at: String,
    /// First line of `--version` of the compilers, cmake and ninja.
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
    /// Reads the manifest of `dir`, and refuses when any file differs, is missing or is too many.
    pub fn read_verified(dir: &Path) -> Result<Self, ProvisionError> {
        let path = dir.join(NAME);
        let refuse = |reason: String| ProvisionError::Manifest { path: path.clone(), reason };
        let bytes = fs::read(&path).map_err(|error| refuse(error.to_string()))?;
        let manifest: Self =
            serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
        let mut listed: BTreeSet<PathBuf> = BTreeSet::new();
        for file in &manifest.files {
            let path = dir.join(&file.path);
            let found = match sha256_file(&path) {
                Ok((found, _)) => found,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => "nothing".to_owned(),
                Err(error) => return Err(PlaceError::new("read", &path, error).into()),
            };
            if found != file.sha256 {
                let (expected, dir) = (file.sha256.clone(), dir.to_path_buf());
                return Err(ProvisionError::Changed { path, expected, found, dir });
            }
            listed.insert(path);
        }
        listed.extend([path.clone(), dir.join(BUILD_LOG)]);
        match files_under(dir)?.into_iter().find(|path| !listed.contains(path)) {
            Some(path) => Err(ProvisionError::Unlisted { path, dir: dir.to_path_buf() }),
            None => Ok(manifest),
        }
    }
}

/// Copies what is installed from `source` and `built` into `stage`, and writes the manifest.
pub(super) fn stage(
    spec: &OracleSpec,
    build: &Build,
    source: &Path,
    built: &Path,
    stage: &Path,
    tools: BTreeMap<String, String>,
) -> Result<(), ProvisionError> {
    for target in &build.targets {
        super::copy(&built.join("bin").join(target), &stage.join("bin").join(target))?;
    }
    for relative in chosen(source, &build.files)? {
        super::copy(&source.join(&relative), &stage.join("source").join(&relative))?;
    }
    let mut files = Vec::new();
    for path in files_under(stage)? {
        let (sha256, bytes) =
            sha256_file(&path).map_err(|error| PlaceError::new("read", &path, error))?;
        let relative = path.strip_prefix(stage).unwrap_or(&path);
        files.push(InstalledFile { path: relative.display().to_string(), sha256, bytes });
    }
    let manifest = Manifest {
        schema_version: 1,
        oracle: spec.name.clone(),
        version: spec.declared.package.version.clone(),
        source_sha256: spec.declared.package.archive_sha256.clone(),
        commit: build.commit.as_ref().map(|commit| commit.sha.clone()),
        built_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        tools,
        files,
    };
    let path = stage.join(NAME);
    let json = serde_json::to_vec_pretty(&manifest).map_err(|error| ProvisionError::Manifest {
        path: path.clone(),
        reason: error.to_string(),
    })?;
    place::write_whole(&path, &json)?;
    Ok(())
}

/// The files of `source` that a glob chooses, relative to it; a glob that chooses none is refused.
fn chosen(source: &Path, globs: &[String]) -> Result<BTreeSet<PathBuf>, ProvisionError> {
    let all: Vec<PathBuf> = files_under(source)?
        .into_iter()
        .filter_map(|path| path.strip_prefix(source).ok().map(Path::to_path_buf))
        .collect();
    let mut chosen = BTreeSet::new();
    for glob in globs {
        let matcher = matcher(glob)?;
        let before = chosen.len();
        chosen.extend(all.iter().filter(|path| matcher.is_match(path)).cloned());
        if chosen.len() == before {
            let reason = format!("chooses nothing new in {}", source.display());
            return Err(ProvisionError::Glob { glob: glob.clone(), reason });
        }
    }
    Ok(chosen)
}

fn matcher(glob: &str) -> Result<GlobMatcher, ProvisionError> {
    let built = GlobBuilder::new(glob).literal_separator(true).build();
    built.map(|built| built.compile_matcher()).map_err(|error| ProvisionError::Glob {
        glob: glob.to_owned(),
        reason: error.kind().to_string(),
    })
}

/// Every file under `dir`, sorted; links are not followed.
fn files_under(dir: &Path) -> Result<Vec<PathBuf>, PlaceError> {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        let read = |error| PlaceError::new("read", &dir, error);
        for entry in fs::read_dir(&dir).map_err(read)? {
            let entry = entry.map_err(read)?;
            if entry.file_type().map_err(read)?.is_dir() {
                dirs.push(entry.path());
            } else {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}
