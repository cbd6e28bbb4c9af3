//! A golden's folder: a manifest, and files that are what it says.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{GoldenCheckpoint, GoldenError, GoldenFile, GoldenManifest, Noise, SCHEMA_VERSION};
use crate::checkpoint::Checkpoint;
use crate::digest::sha256_bytes;
use crate::verbs::Identity;
use crate::{Result, place};

const MANIFEST: &str = "manifest.json";

/// A folder of which every listed file has the bytes that were captured.
pub(super) struct Folder {
    dir: PathBuf,
    pub(super) manifest: GoldenManifest,
    /// sha256 of the manifest's bytes.
    pub(super) sha256: String,
    contents: BTreeMap<String, Vec<u8>>,
}

impl Folder {
    /// Reads `dir`; `None` when there is no manifest.
    pub(super) fn read(dir: &Path) -> Result<Option<Self>, GoldenError> {
        let path = dir.join(MANIFEST);
        let Some(bytes) = read_if_there(&path)? else { return Ok(None) };
        let (manifest, sha256) = (parse_manifest(&path, &bytes)?, sha256_bytes(&bytes));
        let mut contents = BTreeMap::new();
        for file in &manifest.files {
            contents.insert(file.path.clone(), verified(dir, file)?);
        }
        Ok(Some(Self { dir: dir.to_path_buf(), manifest, sha256, contents }))
    }

    /// Whether the manifest lists a file of that name.
    pub(super) fn lists(&self, name: &str) -> bool {
        self.contents.contains_key(name)
    }

    /// The path and the bytes of a listed file.
    pub(super) fn file(&self, name: &'static str) -> Result<(PathBuf, &[u8]), GoldenError> {
        let bytes = self.contents.get(name);
        let unlisted = || GoldenError::Unlisted { path: self.dir.join(MANIFEST), name };
        Ok((self.dir.join(name), bytes.ok_or_else(unlisted)?))
    }

    /// The values of a listed file of lines.
    pub(super) fn lines<T: DeserializeOwned>(
        &self,
        name: &'static str,
    ) -> Result<Vec<T>, GoldenError> {
        let (path, bytes) = self.file(name)?;
        parse_lines(&path, bytes)
    }
}

/// What a manifest says beside its files.
pub(super) struct Header<'a> {
    pub(super) gate: &'a str,
    pub(super) oracle: Identity,
    pub(super) checkpoint: &'a Checkpoint,
    pub(super) prompts_sha256: &'a str,
    pub(super) environment: Option<&'a BTreeMap<String, String>>,
    pub(super) noise: Option<Noise>,
}

/// Writes a golden into `dir`, and gives its manifest with the sha256 of it.
pub(super) fn write(
    dir: &Path,
    header: Header<'_>,
    files: &[(&str, Vec<u8>)],
) -> Result<(GoldenManifest, String)> {
    let manifest = GoldenManifest {
        schema_version: SCHEMA_VERSION,
        gate: header.gate.to_owned(),
        oracle: header.oracle,
        checkpoint: GoldenCheckpoint {
            name: header.checkpoint.name.clone(),
            sha256: header.checkpoint.sha256.clone(),
        },
        captured_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        prompts_sha256: header.prompts_sha256.to_owned(),
        environment: header.environment.cloned(),
        noise: header.noise,
        files: files.iter().map(|(name, bytes)| GoldenFile::of(name, bytes)).collect(),
    };
    let path = dir.join(MANIFEST);
    let mut json = serde_json::to_vec_pretty(&manifest).map_err(|error| wrong(&path, &error))?;
    json.push(b'\n');
    // The manifest last: a golden that was cut in between is refused by its hashes.
    for (name, bytes) in files {
        place::write_whole(&dir.join(name), bytes)?;
    }
    place::write_whole(&path, &json)?;
    Ok((manifest, sha256_bytes(&json)))
}

/// Refuses questions of which there are none, or two of one id.
pub(super) fn check_ids<'i>(
    gate: &str,
    ids: impl Iterator<Item = &'i String>,
) -> Result<(), GoldenError> {
    let mut seen = BTreeSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(GoldenError::Twice { gate: gate.to_owned(), id: id.clone() });
        }
    }
    if seen.is_empty() { Err(GoldenError::Empty { gate: gate.to_owned() }) } else { Ok(()) }
}

/// The bytes of a file of lines, one a value.
pub(super) fn lines<'v, T: Serialize + 'v>(
    path: &Path,
    values: impl IntoIterator<Item = &'v T>,
) -> Result<Vec<u8>, GoldenError> {
    let mut lines = Vec::new();
    for value in values {
        serde_json::to_writer(&mut lines, value).map_err(|error| wrong(path, &error))?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// That a file is not what it must be.
pub(super) fn wrong(path: &Path, message: &dyn std::fmt::Display) -> GoldenError {
    GoldenError::Parse { path: path.to_path_buf(), line: None, message: message.to_string() }
}

impl GoldenFile {
    fn of(path: &str, bytes: &[u8]) -> Self {
        Self { path: path.to_owned(), sha256: sha256_bytes(bytes), bytes: bytes.len() as u64 }
    }
}

fn verified(dir: &Path, file: &GoldenFile) -> Result<Vec<u8>, GoldenError> {
    let path = dir.join(&file.path);
    let content = read_if_there(&path)?;
    let found = content.as_deref().map_or("nothing".to_owned(), sha256_bytes);
    if found == file.sha256 {
        return Ok(content.unwrap_or_default());
    }
    Err(GoldenError::Changed { path, expected: file.sha256.clone(), found })
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, GoldenError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(GoldenError::Read { path: path.to_path_buf(), source }),
    }
}

fn parse_manifest(path: &Path, bytes: &[u8]) -> Result<GoldenManifest, GoldenError> {
    let manifest = serde_json::from_slice::<GoldenManifest>(bytes);
    let manifest = manifest.map_err(|error| wrong(path, &error))?;
    if manifest.schema_version == SCHEMA_VERSION {
        return Ok(manifest);
    }
    Err(GoldenError::Version { path: path.to_path_buf(), found: manifest.schema_version })
}

fn parse_lines<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<Vec<T>, GoldenError> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .enumerate()
        .map(|(index, line)| {
            serde_json::from_slice(line).map_err(|error| GoldenError::Parse {
                path: path.to_path_buf(),
                line: Some(index + 1),
                message: error.to_string(),
            })
        })
        .collect()
}
