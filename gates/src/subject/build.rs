//! Finding the `plumb` binary, and building it when we stand in a clone.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How the binary was found; the record says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FoundBy {
    /// Named by hand: such a run decides no track.
    Flag,
    /// Built from this clone.
    Build,
    /// Beside our own executable.
    Sibling,
}

impl FoundBy {
    /// The word in the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "--plumb",
            Self::Build => "cargo build",
            Self::Sibling => "beside gate",
        }
    }
}

/// A `plumb` binary on disk.
#[derive(Debug, Clone)]
pub struct PlumbBinary {
    /// Where it is.
    pub path: PathBuf,
    /// How it was found.
    pub found_by: FoundBy,
    /// SHA-256 of its bytes.
    pub sha256: String,
}

/// Why there is no binary.
#[derive(Debug, thiserror::Error)]
pub enum SubjectBuildError {
    /// `cargo` could not be started.
    #[error("cannot start cargo to build plumb: install it or name a binary with --plumb PATH")]
    Cargo(#[source] std::io::Error),
    /// The build failed; cargo has said why on standard error.
    #[error("building plumb failed ({status}): cargo says why above")]
    Build {
        /// How cargo ended.
        status: std::process::ExitStatus,
    },
    /// Cargo succeeded without naming the executable.
    #[error(
        "cargo built the engine and named no executable `plumb`: has engine/Cargo.toml still that [[bin]]?"
    )]
    NoExecutable,
    /// Nowhere to be found.
    #[error(
        "no plumb binary: {searched} does not exist; run inside the clone or name one with --plumb PATH"
    )]
    NotFound {
        /// The last place looked at.
        searched: PathBuf,
    },
    /// The binary could not be read.
    #[error("cannot read the plumb binary {path}")]
    Read {
        /// Where it should be.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// The named binary, else the clone's own, built if need be, else the one beside our executable.
pub fn find(root: &Path, named: Option<&Path>) -> Result<PlumbBinary, SubjectBuildError> {
    let (path, found_by) = match named {
        Some(path) => (path.to_owned(), FoundBy::Flag),
        None if root.join("engine").join("Cargo.toml").is_file() => (build(root)?, FoundBy::Build),
        None => (sibling()?, FoundBy::Sibling),
    };
    let (sha256, _) = oracles::digest::sha256_file(&path)
        .map_err(|source| SubjectBuildError::Read { path: path.clone(), source })?;
    // A relative path would be searched on PATH by the process spawner.
    let path = path
        .canonicalize()
        .map_err(|source| SubjectBuildError::Read { path: path.clone(), source })?;
    Ok(PlumbBinary { path, found_by, sha256 })
}

fn build(root: &Path) -> Result<PathBuf, SubjectBuildError> {
    let output = Command::new("cargo")
        .args(["build", "--release", "--package", "engine", "--bin", "plumb"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(SubjectBuildError::Cargo)?;
    if !output.status.success() {
        return Err(SubjectBuildError::Build { status: output.status });
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    messages.lines().rev().find_map(executable).ok_or(SubjectBuildError::NoExecutable)
}

/// The executable that a line of cargo's messages reports for the target `plumb`.
fn executable(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message.pointer("/target/name")? != "plumb" {
        return None;
    }
    message.get("executable")?.as_str().map(PathBuf::from)
}

fn sibling() -> Result<PathBuf, SubjectBuildError> {
    let unread = |source| SubjectBuildError::Read { path: "gate".into(), source };
    let searched = std::env::current_exe().map_err(unread)?.with_file_name("plumb");
    if searched.is_file() { Ok(searched) } else { Err(SubjectBuildError::NotFound { searched }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_read_from_cargos_messages() {
        let artifact = r#"{"reason":"compiler-artifact","target":{"name":"plumb"},"executable":"/t/release/plumb"}"#;
        assert_eq!(executable(artifact), Some("/t/release/plumb".into()));
        let library =
            r#"{"reason":"compiler-artifact","target":{"name":"engine"},"executable":null}"#;
        assert_eq!(executable(library), None);
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(executable("not json"), None);
    }
}
