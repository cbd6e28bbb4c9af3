//! The interpreter of a `[venv]`: one of the machine, of the exact minor version.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ProvisionError;
use crate::place::PlaceError;

/// What an interpreter says about itself: where it is, and its full version. Links stay links: behind the link of a virtual
/// environment stands an interpreter that knows nothing of what is installed there.
const QUESTION: &str = "import os, platform, sys; print(os.path.abspath(sys.executable)); print(platform.python_version())";

/// An interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Python {
    /// Its executable.
    pub path: PathBuf,
    /// Its full version, `3.12.1`.
    pub version: String,
}

impl Python {
    /// The first interpreter of the minor version `wanted`: the one that its name starts, then where pyenv keeps its
    /// versions (whose names on PATH answer only when the version is selected).
    pub fn find(wanted: &str) -> Result<Self, ProvisionError> {
        let program = format!("python{wanted}");
        let kept = pyenv_folders().into_iter().map(|folder| folder.join(&program));
        let kept: Vec<PathBuf> = kept.filter(|candidate| candidate.is_file()).collect();
        Self::find_among(wanted, [PathBuf::from(&program)].into_iter().chain(kept))
    }

    /// The first of `candidates` that answers as `wanted`; a candidate without a folder is looked for on PATH.
    pub fn find_among(
        wanted: &str,
        candidates: impl IntoIterator<Item = PathBuf>,
    ) -> Result<Self, ProvisionError> {
        let mut refused = Vec::new();
        for candidate in candidates {
            let name = candidate.display();
            match ask(&candidate) {
                Ok(Some(python)) if python.is(wanted) => return Ok(python),
                Ok(Some(python)) => refused.push(format!("{name} is {}", python.version)),
                Ok(None) => refused.push(format!("{name} does not run")),
                Err(error) => refused.push(format!("{name}: {error}")),
            }
        }
        let found = if refused.is_empty() { "none".to_owned() } else { refused.join(", ") };
        Err(ProvisionError::NoPython { wanted: wanted.to_owned(), found })
    }

    fn is(&self, wanted: &str) -> bool {
        self.version.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
    }

    /// The version of a distribution that it brings itself.
    pub fn distribution(&self, name: &str) -> Option<String> {
        const QUESTION: &str = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))";
        let mut command = Command::new(&self.path);
        command.args(["-I", "-c", QUESTION, name]).env_clear().stdin(Stdio::null());
        let output = command.output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    }

    /// sha256 of its executable.
    pub fn sha256(&self) -> Result<String, PlaceError> {
        let hashed = crate::digest::sha256_file(&self.path);
        Ok(hashed.map_err(|error| PlaceError::new("read", &self.path, error))?.0)
    }
}

/// What a candidate says about itself; `None` when it starts and says nothing of use.
fn ask(candidate: &Path) -> io::Result<Option<Python>> {
    let mut command = Command::new(candidate);
    let output = command.args(["-I", "-S", "-c", QUESTION]).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let said = said.trim().split_once('\n').filter(|_| output.status.success());
    Ok(said.map(|(path, version)| Python { path: path.into(), version: version.to_owned() }))
}

/// `bin` of every version that pyenv has installed, newest name first.
fn pyenv_folders() -> Vec<PathBuf> {
    let home = etcetera::home_dir().ok();
    let versions = home.and_then(|home| std::fs::read_dir(home.join(".pyenv/versions")).ok());
    let mut folders: Vec<PathBuf> =
        versions.into_iter().flatten().flatten().map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    folders.reverse();
    folders
}
