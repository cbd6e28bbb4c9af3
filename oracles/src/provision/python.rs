//! The interpreter of a `[venv]`: one of the machine, of the exact minor version.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ProvisionError;
use crate::place::PlaceError;

/// What an interpreter says about itself: where it really is, and its full version.
const QUESTION: &str = "import os, platform, sys; print(os.path.realpath(sys.executable)); print(platform.python_version())";

/// An interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Python {
    /// Its executable, links resolved.
    pub path: PathBuf,
    /// Its full version, `3.12.1`.
    pub version: String,
}

impl Python {
    /// The first interpreter of the minor version `wanted`: on PATH under its name, then where pyenv keeps its versions
    /// (whose names on PATH answer only when the version is selected).
    pub fn find(wanted: &str) -> Result<Self, ProvisionError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self::find_among(wanted, &path, &pyenv_folders())
    }

    /// [`Self::find`] with everything given.
    pub fn find_among(
        wanted: &str,
        path: &OsStr,
        more: &[PathBuf],
    ) -> Result<Self, ProvisionError> {
        let program = format!("python{wanted}");
        let folders = std::env::split_paths(path).chain(more.iter().cloned());
        let candidates: BTreeSet<(usize, PathBuf)> = folders
            .map(|folder| folder.join(&program))
            .filter(|candidate| candidate.is_file())
            .enumerate()
            .collect();
        let mut refused = Vec::new();
        for (_, candidate) in candidates {
            match ask(&candidate) {
                Some(python) if python.is(wanted) => return Ok(python),
                Some(python) => {
                    refused.push(format!("{} is {}", candidate.display(), python.version))
                }
                None => refused.push(format!("{} does not run", candidate.display())),
            }
        }
        let found = if refused.is_empty() { "none".to_owned() } else { refused.join(", ") };
        Err(ProvisionError::NoPython { wanted: wanted.to_owned(), program, found })
    }

    fn is(&self, wanted: &str) -> bool {
        self.version.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
    }

    /// sha256 of its executable.
    pub fn sha256(&self) -> Result<String, PlaceError> {
        let hashed = crate::digest::sha256_file(&self.path);
        Ok(hashed.map_err(|error| PlaceError::new("read", &self.path, error))?.0)
    }
}

fn ask(candidate: &Path) -> Option<Python> {
    let mut command = Command::new(candidate);
    let output = command.args(["-I", "-S", "-c", QUESTION]).stdin(Stdio::null()).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    let (path, version) = said.trim().split_once('\n')?;
    output.status.success().then(|| Python { path: path.into(), version: version.to_owned() })
}

/// `bin` of every version that pyenv has installed, newest name first.
fn pyenv_folders() -> Vec<PathBuf> {
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| Some(etcetera::home_dir().ok()?.join(".pyenv")));
    let versions = root.and_then(|root| std::fs::read_dir(root.join("versions")).ok());
    let mut folders: Vec<PathBuf> =
        versions.into_iter().flatten().flatten().map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    folders.reverse();
    folders
}
