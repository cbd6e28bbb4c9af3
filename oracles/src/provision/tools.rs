//! Build tools: those of the build's own PATH, else pinned ones in a private virtual environment.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ProvisionError;
use crate::digest::sha256_bytes;
use crate::place::{self, Lock, PlaceError};
use crate::registry::Build;
use crate::{Home, Progress, logs};

/// Where the tools are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tools {
    pub(super) cmake: PathBuf,
    pub(super) ninja: PathBuf,
}

/// Finds both tools, or installs the pinned versions.
pub(super) fn find(
    home: &Home,
    build: &Build,
    progress: Progress,
) -> Result<Tools, ProvisionError> {
    let path = build.environment.get("PATH").map_or("", String::as_str);
    let on_path =
        |tool: &str| path.split(':').map(|d| Path::new(d).join(tool)).find(|p| p.is_file());
    if let (Some(cmake), Some(ninja)) = (on_path("cmake"), on_path("ninja")) {
        return Ok(Tools { cmake, ninja });
    }
    for tool in ["cmake", "ninja"] {
        if !build.tools.contains_key(tool) {
            let (tool, path) = (tool.to_owned(), path.to_owned());
            return Err(ProvisionError::NoTool { tool, path });
        }
    }
    let bin = install(home, build, progress)?.join("bin");
    Ok(Tools { cmake: bin.join("cmake"), ninja: bin.join("ninja") })
}

/// The virtual environment with `build.tools`, made when it is not there.
fn install(home: &Home, build: &Build, progress: Progress) -> Result<PathBuf, ProvisionError> {
    let requirements: Vec<String> =
        build.tools.iter().map(|(name, version)| format!("{name}=={version}")).collect();
    let hash = sha256_bytes(requirements.join(" ").as_bytes());
    let dir = home.cache.join("tools").join(format!("build-{}", &hash[..12]));
    let _lock = Lock::acquire(&dir, progress)?;
    // A virtual environment cannot be renamed into place, so a marker says that it is whole.
    let whole = dir.join("whole");
    if whole.is_file() {
        return Ok(dir);
    }
    place::remove(&dir)?;
    let log = logs::create(home, "build-tools")?;
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&dir);
    run("making an environment for build tools", venv, &log, progress)?;
    let mut pip = Command::new(dir.join("bin/python"));
    pip.args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check"]);
    pip.args(["--progress-bar", "off", "--only-binary", ":all:"]).args(&requirements);
    run(&format!("pip install {}", requirements.join(" ")), pip, &log, progress)?;
    place::write_whole(&whole, requirements.join("\n").as_bytes())?;
    Ok(dir)
}

fn run(
    step: &str,
    mut command: Command,
    log: &Path,
    progress: Progress,
) -> Result<(), ProvisionError> {
    let write = |error| PlaceError::new("write", log, error);
    let output = File::options().create(true).append(true).open(log).map_err(write)?;
    let errors = output.try_clone().map_err(write)?;
    command.stdin(Stdio::null()).stdout(output).stderr(errors);
    let _stage = progress.steps(step, None);
    let program = PathBuf::from(command.get_program());
    let status = command.status().map_err(|source| ProvisionError::Spawn { program, source })?;
    if status.success() {
        return Ok(());
    }
    Err(ProvisionError::Step {
        step: step.to_owned(),
        status: status.to_string(),
        log: log.to_path_buf(),
        tail: logs::tail(log),
    })
}
