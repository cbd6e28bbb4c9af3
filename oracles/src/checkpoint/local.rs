//! A checkpoint that is a file of this machine: checked, never copied, never moved.

use std::path::PathBuf;

use super::source::LocalSource;
use super::verify::{self, OnMismatch};
use super::{Checkpoint, CheckpointError, CheckpointSpec};
use crate::Home;

/// The file, when it is there.
pub(super) fn checkpoint(
    home: &Home,
    spec: &CheckpointSpec,
    source: &LocalSource,
) -> Result<Option<Checkpoint>, CheckpointError> {
    let path = path(home, source);
    let bytes = verify::file(&path, &source.sha256, OnMismatch::Leave)?;
    Ok(bytes.map(|bytes| Checkpoint {
        name: spec.name.clone(),
        path,
        sha256: source.sha256.clone(),
        bytes,
    }))
}

/// The error of a file that is not there: nothing can fetch it.
pub(super) fn missing(home: &Home, spec: &CheckpointSpec, source: &LocalSource) -> CheckpointError {
    CheckpointError::Local {
        name: spec.name.clone(),
        path: path(home, source),
        spec: spec.path.clone(),
    }
}

fn path(home: &Home, source: &LocalSource) -> PathBuf {
    home.root.join(&source.path)
}
