//! Build tools: those of the build's own PATH, else pinned ones in a private virtual environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ProvisionError;
use super::step::Step;
use crate::digest::sha256_bytes;
use crate::place::{self, Lock};
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
    let bin = environment(home, &build.tools, progress)?.join("bin");
    Ok(Tools { cmake: bin.join("cmake"), ninja: bin.join("ninja") })
}

/// The folder of a private virtual environment with `tools`, made when it is not there.
pub(super) fn environment(
    home: &Home,
    tools: &BTreeMap<String, String>,
    progress: Progress,
) -> Result<PathBuf, ProvisionError> {
    let requirements: Vec<String> =
        tools.iter().map(|(name, version)| format!("{name}=={version}")).collect();
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
    let step = |label| Step { label, log: &log, progress };
    step("making an environment for build tools").run(venv, |_, _| ())?;
    let mut pip = Command::new(dir.join("bin/python"));
    pip.args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check"]);
    pip.args(["--progress-bar", "off", "--only-binary", ":all:"]).args(&requirements);
    step(&format!("pip install {}", requirements.join(" "))).run(pip, |_, _| ())?;
    place::write_whole(&whole, requirements.join("\n").as_bytes())?;
    Ok(dir)
}
