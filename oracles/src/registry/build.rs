//! `[build]`: an oracle that is built from its source package.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::spec::{self, SpecError};

/// `[build]`: a CMake build with Ninja.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Build {
    /// The source tree inside the archive.
    pub source: String,
    /// The commit that the source names as its own.
    pub commit: Option<Commit>,
    /// `-DKEY=VALUE` of the configuration.
    pub definitions: BTreeMap<String, String>,
    /// The targets, each an executable under `bin/` of the build folder.
    pub targets: Vec<String>,
    /// Files of the source tree that are installed beside the executables, as globs.
    pub files: Vec<String>,
    /// Versions of `cmake` and `ninja` that are installed from the package index where the
    /// environment's `PATH` has none.
    pub tools: BTreeMap<String, String>,
    /// The whole environment of the build.
    pub environment: BTreeMap<String, String>,
}

/// `[build.commit]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// 40 hexadecimal digits.
    pub sha: String,
    /// The file of the archive that names it.
    pub file: String,
}

impl Build {
    pub(super) fn check(&self, path: &Path) -> Result<(), SpecError> {
        spec::check_inner_path(path, "build.source", &self.source)?;
        if let Some(commit) = &self.commit {
            spec::check_inner_path(path, "build.commit.file", &commit.file)?;
        }
        if self.targets.is_empty() {
            return Err(SpecError::value(path, "build.targets", "at least one", "none"));
        }
        for target in &self.targets {
            spec::check_inner_path(path, "build.targets", target)?;
        }
        spec::check_tools(path, "build.tools", &self.tools)
    }
}
