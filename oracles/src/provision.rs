//! Building an oracle from its pinned source, and knowing that what was built is still there.

use std::path::{Path, PathBuf};

use crate::registry::OracleSpec;
use crate::{Home, Progress, Result};

/// An oracle could not be built, or its installed files differ from its manifest.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// The registry file has no `[build]`.
    #[error("oracle {name} cannot be provisioned: {path} has no [build]", path = .path.display())]
    NoBuild {
        /// Registry name.
        name: String,
        /// Its file.
        path: PathBuf,
    },
}

/// An oracle whose installed files were verified against their manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provisioned {
    /// What was asked for.
    pub spec: OracleSpec,
    /// The installation.
    pub dir: PathBuf,
}

impl Provisioned {
    /// The source files that gates use, at their paths inside the source tree.
    pub fn source_dir(&self) -> PathBuf {
        self.dir.join("source")
    }

    /// The vocabularies of the source tree: `ggml-vocab-*.gguf` with their `.inp` and `.out`.
    pub fn vocabularies_dir(&self) -> PathBuf {
        self.source_dir().join("models")
    }

    /// An installed executable.
    pub fn executable(&self, name: &str) -> PathBuf {
        self.dir.join("bin").join(Path::new(name))
    }
}

/// The oracle, built when it is not provisioned yet: minutes, resumable.
pub fn provision(_home: &Home, _spec: &OracleSpec, _progress: Progress) -> Result<Provisioned> {
    todo!()
}

/// The oracle, when it is provisioned and every installed file is the one its manifest lists.
pub fn provisioned(_home: &Home, _spec: &OracleSpec) -> Result<Option<Provisioned>> {
    todo!()
}
