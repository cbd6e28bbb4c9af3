//! Whether what the cache holds is what the pin says.

use std::path::{Path, PathBuf};

use super::source::{HubFile, HubSource, PackageSource, SyntheticSource};
use super::{Checkpoint, CheckpointError, CheckpointSpec, synthetic};
use crate::digest::sha256_file;
use crate::place::{self, PlaceError};

/// The member of a package; `None` when it is not there.
pub(super) fn package(
    spec: &CheckpointSpec,
    source: &PackageSource,
    dir: &Path,
) -> Result<Option<Checkpoint>, CheckpointError> {
    let path = dir.join(file_name(&source.member));
    let bytes = sized(&path, &source.sha256, source.bytes)?;
    Ok(bytes.map(|bytes| Checkpoint {
        name: spec.name.clone(),
        path,
        sha256: source.sha256.clone(),
        bytes,
    }))
}

/// The files of a repository; `None` when one is not there.
pub(super) fn hub(
    spec: &CheckpointSpec,
    source: &HubSource,
    dir: &Path,
) -> Result<Option<Checkpoint>, CheckpointError> {
    let mut total = 0;
    for file_spec in &source.file {
        let path = dir.join(&file_spec.path);
        match sized(&path, &file_spec.sha256, file_spec.bytes)? {
            Some(bytes) => total += bytes,
            None => return Ok(None),
        }
    }
    // A lone GGUF file is a checkpoint by itself; anything else is a folder.
    let is_gguf = |file: &HubFile| Path::new(&file.path).extension().is_some_and(|e| e == "gguf");
    let path = match source.file.as_slice() {
        [only] if is_gguf(only) => dir.join(&only.path),
        _ => dir.to_path_buf(),
    };
    let sha256 = source.digest();
    Ok(Some(Checkpoint { name: spec.name.clone(), path, sha256, bytes: total }))
}

/// The generated files; `None` when one is not there or is not what would be written now.
pub(super) fn synthetic(
    spec: &CheckpointSpec,
    source: &SyntheticSource,
    dir: &Path,
) -> Result<Option<Checkpoint>, CheckpointError> {
    let weights = dir.join(synthetic::WEIGHTS);
    let Some(mut total) = file(&weights, &source.sha256, OnMismatch::SetAside)? else {
        return Ok(None);
    };
    for (name, bytes) in synthetic::companions(spec, source) {
        match std::fs::read(dir.join(name)) {
            Ok(found) if found == bytes => total += bytes.len() as u64,
            _ => return Ok(None),
        }
    }
    Ok(Some(Checkpoint {
        name: spec.name.clone(),
        path: dir.to_path_buf(),
        sha256: source.sha256.clone(),
        bytes: total,
    }))
}

/// What happens to a file whose bytes are wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnMismatch {
    /// It is ours: out of the way, kept for a look.
    SetAside,
    /// It is the user's: left where it is.
    Leave,
}

/// The size of the file at `path` when its digest is `sha256`; `None` when there is no file.
pub(super) fn file(
    path: &Path,
    sha256: &str,
    on_mismatch: OnMismatch,
) -> Result<Option<u64>, CheckpointError> {
    if !path.is_file() {
        return Ok(None);
    }
    let (found, bytes) = sha256_file(path).map_err(|e| PlaceError::new("read", path, e))?;
    if found == sha256 {
        return Ok(Some(bytes));
    }
    let aside = match on_mismatch {
        OnMismatch::SetAside => Some(place::set_aside(path)?),
        OnMismatch::Leave => None,
    };
    Err(CheckpointError::Hash {
        path: path.to_path_buf(),
        expected: sha256.to_owned(),
        found,
        aside,
    })
}

/// [`file`] of a declaration that also names the size. Where the digest fits and the size does not, it is the declaration that
/// lies: it is refused, and the file stays.
fn sized(path: &Path, sha256: &str, expected: u64) -> Result<Option<u64>, CheckpointError> {
    let found = file(path, sha256, OnMismatch::SetAside)?;
    if let Some(found) = found.filter(|found| *found != expected) {
        let what = path.display().to_string();
        return Err(CheckpointError::Bytes { what, expected, found });
    }
    Ok(found)
}

/// The last part of a path inside an archive.
pub(super) fn file_name(member: &str) -> PathBuf {
    PathBuf::from(Path::new(member).file_name().unwrap_or_default())
}
