//! A checkpoint made from another one by an oracle's own converter: the same weights in the form that the oracle reads.
//!
//! The converter is part of the oracle's pinned source, runs on the installed tree of another oracle, and its result is pinned.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::{Checkpoint, CheckpointError, CheckpointSpec, verify};
use crate::place::{self, PlaceError};
use crate::process::Group;
use crate::provision::{self, Provisioned, Python};
use crate::registry::{OracleSpec, Provisioner};
use crate::spec::{self, SpecError};
use crate::{Home, Progress, logs};

/// The driver of the converter, in `oracles/drivers/`.
const DRIVER: &str = "gguf_converter.py";

/// `[converted]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvertedSource {
    /// The checkpoint that is converted.
    pub from: String,
    /// The oracle whose source has the converter.
    pub converter: String,
    /// The oracle on whose installed tree it runs.
    pub python: String,
    /// In what the weights are held afterwards.
    pub outtype: OutType,
    /// sha256 of the file.
    pub sha256: String,
}

/// A type of weights, as llama.cpp's converter names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of binary32.
    Bf16,
}

impl OutType {
    fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }
}

impl ConvertedSource {
    pub(super) fn check(&self, path: &Path) -> Result<(), SpecError> {
        spec::check_sha256(path, "converted.sha256", &self.sha256)?;
        let names =
            [("from", &self.from), ("converter", &self.converter), ("python", &self.python)];
        match names.into_iter().find(|(_, name)| !spec::is_plain(name)) {
            Some((key, name)) => {
                let found = format!("{name:?}");
                Err(SpecError::value(path, &format!("converted.{key}"), "a name", &found))
            }
            None => Ok(()),
        }
    }
}

/// The file, when it is there.
pub(super) fn checkpoint(
    spec: &CheckpointSpec,
    source: &ConvertedSource,
    dir: &Path,
) -> Result<Option<Checkpoint>, CheckpointError> {
    let path = file(spec, dir);
    let bytes = verify::file(&path, &source.sha256, verify::OnMismatch::SetAside)?;
    let (name, sha256) = (spec.name.clone(), source.sha256.clone());
    Ok(bytes.map(|bytes| Checkpoint { name, path, sha256, bytes }))
}

fn file(spec: &CheckpointSpec, dir: &Path) -> PathBuf {
    dir.join(format!("{}.gguf", spec.name))
}

/// Converts into `dir`. Neither oracle is provisioned for it: that takes its own command.
pub(super) fn write(
    home: &Home,
    spec: &CheckpointSpec,
    source: &ConvertedSource,
    dir: &Path,
    progress: Progress,
) -> Result<(), CheckpointError> {
    let needed = |error: crate::Error| CheckpointError::Needed {
        name: spec.name.clone(),
        source: Box::new(error),
    };
    let from = CheckpointSpec::load(home, &source.from).map_err(needed)?;
    let from = super::fetch(home, &from, progress).map_err(needed)?;
    let provisioned = |name: &String| {
        let oracle = OracleSpec::load(home, name).map_err(needed)?;
        let found = provision::provisioned(home, &oracle, progress).map_err(needed)?;
        found.ok_or_else(|| CheckpointError::NotProvisioned {
            name: spec.name.clone(),
            oracle: name.clone(),
        })
    };
    let (converter, python) = (provisioned(&source.converter)?, provisioned(&source.python)?);
    let mut command = interpreter(home, &python).map_err(needed)?;
    command.arg(home.root.join("oracles/drivers").join(DRIVER));
    command.arg("--source").arg(converter.source_dir()).arg("--model").arg(&from.path);
    command.args(["--name", &from.name, "--outtype", source.outtype.name()]);
    command.arg("--outfile").arg(file(spec, dir));
    let _stage = progress.steps(&format!("converting {}", from.name), None);
    run(home, spec, command)
}

/// The interpreter on an installed tree alone.
fn interpreter(home: &Home, oracle: &Provisioned) -> crate::Result<Command> {
    let Some(Provisioner::Venv(venv)) = oracle.spec.declared.provisioner() else {
        let (path, found) = (&oracle.spec.path, oracle.spec.name.clone());
        return Err(SpecError::value(path, "converted.python", "a [venv] oracle", &found).into());
    };
    let python = Python::find(&venv.python)?;
    let mut command = Command::new(&python.path);
    command.args(["-s", "-P", "-B", "-S"]).env_clear();
    let state = home.cache.join("state").join("converter");
    place::create_dir(&state)?;
    for (key, value) in [("PATH", "/usr/bin:/bin"), ("LC_ALL", "C.UTF-8"), ("HF_HUB_OFFLINE", "1")]
    {
        command.env(key, value);
    }
    // No set of names has another order tomorrow.
    command.env("PYTHONHASHSEED", "0").env("HOME", state).env("PYTHONPATH", oracle.site_dir());
    Ok(command)
}

fn run(home: &Home, spec: &CheckpointSpec, mut command: Command) -> Result<(), CheckpointError> {
    let log = logs::create(home, &format!("converting-{}", spec.name))?;
    let failed = |error| PlaceError::new("write", &log, error);
    let output = File::create(&log).map_err(failed)?;
    command.stdout(output.try_clone().map_err(failed)?).stderr(output);
    let started = Group::spawn(&mut command).and_then(|mut group| group.wait());
    let status = started.map_err(|error| PlaceError::new("run", &log, error))?;
    if status.success() {
        return Ok(());
    }
    Err(CheckpointError::Converter {
        name: spec.name.clone(),
        status: status.to_string(),
        tail: logs::tail(&log),
        log,
    })
}
