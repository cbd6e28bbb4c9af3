//! The present: what records are compared with to see whether they still speak of this tree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::digest::sha256_file;
use crate::harness_digest::harness_digest;
use crate::source_digest::{SourceDigestError, source_digest};

/// Sources, specs and pins as they are now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Present {
    /// [`crate::source_digest`] of the tree.
    pub source_sha256: String,
    /// [`crate::harness_digest`] of the tree.
    pub harness_sha256: String,
    /// SHA-256 of each gate's spec, by the gate's name. A gate without an entry is not built.
    pub specs: BTreeMap<String, String>,
    /// SHA-256 of the source that each registered oracle is pinned to, by the oracle's name.
    pub pins: BTreeMap<String, String>,
    /// SHA-256 of each registered oracle's definition, by the oracle's name.
    pub definitions: BTreeMap<String, String>,
    /// SHA-256 that each declared checkpoint is pinned to, by the checkpoint's name.
    pub checkpoints: BTreeMap<String, String>,
    /// SHA-256 of each gate's inputs file, by the gate's name; a gate without inputs has no entry.
    pub inputs: BTreeMap<String, String>,
    /// SHA-256 of the manifest of each gate's golden, by the gate's name; a gate without a golden has no entry, and one whose
    /// golden is not as it was captured has an entry that is no digest.
    pub goldens: BTreeMap<String, String>,
}

/// The present could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PresentError {
    /// The sources.
    #[error(transparent)]
    Sources(#[from] SourceDigestError),
    /// A spec.
    #[error("cannot read {}", .path.display())]
    Spec {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
}

impl Present {
    /// Reads the tree below the workspace root. The pins, the checkpoints, the inputs and the goldens are the caller's to fill in:
    /// this crate knows neither the oracles nor what a spec says.
    pub fn of_tree(root: &Path, pins: BTreeMap<String, String>) -> Result<Self, PresentError> {
        let specs = spec_hashes(&root.join("gates/specs"))?;
        let (source_sha256, harness_sha256) = (source_digest(root)?, harness_digest(root)?);
        Ok(Self { source_sha256, harness_sha256, specs, pins, ..Self::default() })
    }
}

/// SHA-256 of the bytes of each `NAME.toml` in a folder, by NAME.
fn spec_hashes(folder: &Path) -> Result<BTreeMap<String, String>, PresentError> {
    let error = |path: &Path| {
        let path = path.to_owned();
        move |source| PresentError::Spec { path, source }
    };
    let mut hashes = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(error(folder))? {
        let path = entry.map_err(error(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "toml")
            && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
        {
            hashes.insert(name.to_owned(), sha256_file(&path).map_err(error(&path))?);
        }
    }
    Ok(hashes)
}
