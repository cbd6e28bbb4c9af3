//! The present of a tree: what records are compared with to see whether they still speak of it.
//!
//! [`Present`] belongs to the records, which know neither oracles nor what a gate's spec says; here it is filled in, once for all who
//! ask: the open-gaps page and the certificates of a grid must not differ in what they take for a pass.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use records::gap::{Present, PresentError as TreeError};
use serde::Deserialize;

use crate::checkpoint::{self, CheckpointSpec, Source};
use crate::registry::{self, OracleSpec};
use crate::{Error, Home, golden};

/// The present cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PresentError {
    /// The sources or a folder.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A registry file or a checkpoint's.
    #[error(transparent)]
    Declared(#[from] Error),
    /// A gate's spec or its inputs.
    #[error("cannot read {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A gate's spec is no TOML.
    #[error("{}: {source}", .path.display())]
    Spec {
        /// The file.
        path: PathBuf,
        /// Where, and what was expected.
        source: toml::de::Error,
    },
}

/// What a gate's spec says of the files beside it; its other keys are the gates' own.
#[derive(Debug, Deserialize)]
struct GateFiles {
    oracle: Option<String>,
    inputs: Option<PathBuf>,
}

/// The tree of `home` as it is.
pub fn present(home: &Home) -> Result<Present, PresentError> {
    let mut present = Present {
        definitions: definitions(home)?,
        checkpoints: checkpoints(home)?,
        ..Present::of_tree(&home.root, pins(home)?)?
    };
    let gates: Vec<String> = present.specs.keys().cloned().collect();
    for gate in gates {
        let files = gate_files(&home.root, &gate)?;
        if let Some(inputs) = files.inputs {
            let path = home.root.join(inputs);
            let sha256 = records::sha256_file(&path)
                .map_err(|source| PresentError::Read { path, source })?;
            present.inputs.insert(gate.clone(), sha256);
        }
        if let Some(oracle) = files.oracle {
            // A golden that is not whole equals none that a record names.
            let found = match golden::manifest(home, &oracle, &gate) {
                Ok(found) => found.map(|(_, sha256)| sha256),
                Err(_) => Some("not as it was captured".to_owned()),
            };
            present.goldens.extend(found.map(|sha256| (gate, sha256)));
        }
    }
    Ok(present)
}

fn gate_files(root: &Path, gate: &str) -> Result<GateFiles, PresentError> {
    let path = root.join("gates/specs").join(format!("{gate}.toml"));
    match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).map_err(|source| PresentError::Spec { path, source }),
        Err(source) => Err(PresentError::Read { path, source }),
    }
}

/// What each registered oracle is pinned to.
fn pins(home: &Home) -> Result<BTreeMap<String, String>, Error> {
    let pin = |name: String| {
        let spec = OracleSpec::load(home, &name)?;
        Ok((name, spec.declared.package.archive_sha256))
    };
    registry::names(home)?.into_iter().map(pin).collect()
}

/// How each registered oracle is defined.
fn definitions(home: &Home) -> Result<BTreeMap<String, String>, Error> {
    let define = |name: String| {
        let spec = OracleSpec::load(home, &name)?;
        let sha256 = spec.definition_sha256(home)?;
        Ok((name, sha256))
    };
    registry::names(home)?.into_iter().map(define).collect()
}

/// What each declared checkpoint is pinned to. A folder from a hub has no single digest in its declaration, and no entry.
fn checkpoints(home: &Home) -> Result<BTreeMap<String, String>, Error> {
    let mut pins = BTreeMap::new();
    for name in checkpoint::names(home)? {
        let sha256 = match CheckpointSpec::load(home, &name)?.source {
            Source::Package(source) => source.sha256,
            Source::Local(source) => source.sha256,
            Source::Synthetic(source) => source.sha256,
            Source::Converted(source) => source.sha256,
            Source::Hub(_) => continue,
        };
        pins.insert(name, sha256);
    }
    Ok(pins)
}
