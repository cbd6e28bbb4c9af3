//! Where things are: the workspace, and the cache that holds what is fetched and built.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

/// The two places everything else is found from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The workspace: the folder that holds `open-gaps.toml` and `Cargo.toml`.
    pub root: PathBuf,
    /// Fetched checkpoints and provisioned oracles; by default `plumbline` in the user's cache.
    pub cache: PathBuf,
}

/// The workspace or the cache was not found.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// No parent of the starting folder is a workspace.
    #[error(
        "no workspace at or above {start}: expected a folder that holds open-gaps.toml and \
         Cargo.toml (run inside the clone, or give --root)"
    )]
    NoRoot {
        /// Where the search began.
        start: PathBuf,
    },
    /// The current folder cannot be read.
    #[error("the current folder cannot be read: give --root")]
    CurrentDir(#[source] std::io::Error),
    /// The user has no cache folder.
    #[error("the user's cache folder is not known: give --cache")]
    NoCache(#[source] etcetera::HomeDirError),
}

impl Home {
    /// Finds the home: `root` and `cache` where given, else the workspace at or above the current
    /// folder, and `plumbline` in the user's cache folder.
    pub fn find(root: Option<&Path>, cache: Option<&Path>) -> Result<Self, HomeError> {
        let start = match root {
            Some(root) => root.to_path_buf(),
            None => std::env::current_dir().map_err(HomeError::CurrentDir)?,
        };
        let found = match root {
            Some(root) => is_workspace(root).then(|| root.to_path_buf()),
            None => start.ancestors().find(|dir| is_workspace(dir)).map(Path::to_path_buf),
        };
        let root = found.ok_or(HomeError::NoRoot { start })?;
        let cache = match cache {
            Some(cache) => cache.to_path_buf(),
            None => etcetera::choose_base_strategy()
                .map_err(HomeError::NoCache)?
                .cache_dir()
                .join("plumbline"),
        };
        Ok(Self { root, cache })
    }

    /// Where evidence lies that is too large for git, by its SHA-256.
    pub fn evidence_dir(&self) -> PathBuf {
        self.cache.join("evidence")
    }

    /// Where the pinned oracles are declared.
    pub fn registry_dir(&self) -> PathBuf {
        self.root.join("oracles/registry")
    }

    /// Where the pinned checkpoints are declared.
    pub fn checkpoints_dir(&self) -> PathBuf {
        self.root.join("oracles/checkpoints")
    }

    /// Where an oracle's answers to a gate are kept.
    pub fn golden_dir(&self, oracle: &str, gate: &str) -> PathBuf {
        self.root.join("oracles/goldens").join(oracle).join(gate)
    }
}

fn is_workspace(dir: &Path) -> bool {
    dir.join("open-gaps.toml").is_file() && dir.join("Cargo.toml").is_file()
}
