//! Building an oracle from its source package.

use std::path::{Path, PathBuf};

use super::{ProvisionError, build, manifest, tools, unpack};
use crate::place::{self, PlaceError};
use crate::registry::{Build, OracleSpec};
use crate::{Home, Progress};

/// Builds in `work`, which a later run continues, and stages what is installed.
pub(super) fn install(
    home: &Home,
    spec: &OracleSpec,
    build: &Build,
    work: &Path,
    progress: Progress,
) -> Result<PathBuf, ProvisionError> {
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
    manifest::stage((spec, build), &source, &work.join("build"), &stage, built, progress)?;
    super::copy(&work.join("build.log"), &stage.join("build.log"))?;
    Ok(stage)
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
