//! What is known about a run beside its samples: the builds, who answered for the oracle and how it was pinned, on what, and
//! what was asked. The validity rules are asked of it by the judge, so it is kept as evidence; nothing in it is a verdict.

use oracles::checkpoint::Checkpoint;
use oracles::golden::{GoldenCheckpoint, GoldenManifest, Noise};
use oracles::registry::{Declared, OracleSpec};
use oracles::verbs::Identity;
use serde::{Deserialize, Serialize};

use crate::subject::{FoundBy, Info};
use crate::validity::Violation;
use crate::workload::Workload;

/// Everything that a rule may ask about beside the samples. It fills while a run goes on; what was not reached is `None`, and
/// the rules about it stay silent because the run has no samples then either.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Facts {
    /// The gate.
    pub gate: String,
    /// This program and the sources that it stands in.
    pub harness: Option<Build>,
    /// The engine's binary and the sources beside it; `None` where no engine is asked.
    pub engine: Option<EngineBuild>,
    /// What the engine said of itself with the model loaded.
    pub loaded: Option<Info>,
    /// The oracle as its registry file pins it.
    pub oracle: Option<Pinned>,
    /// Who answered, as its process or its golden says.
    pub answered_by: Option<Identity>,
    /// How far the oracle is from itself, where its golden has it measured.
    pub noise: Option<Noise>,
    /// The golden that answered.
    pub golden: Option<AnsweringGolden>,
    /// The checkpoint that the subject was given.
    pub checkpoint: Option<GoldenCheckpoint>,
    /// What was asked.
    pub asked: Option<Asked>,
    /// Broken rules of answers that are too large to keep (whole distributions, tensors), as they were found.
    pub found: Vec<Violation>,
}

/// A program and the tree beside it, by the digests of their sources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// What the program carries.
    pub embedded: Option<String>,
    /// What the tree has; `None` outside a clone.
    pub tree: Option<String>,
}

/// The engine's binary before a model is loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineBuild {
    /// The digest of sources that it carries.
    pub embedded: String,
    /// What the tree has; `None` outside a clone.
    pub tree: Option<String>,
    /// How it was found.
    pub found_by: FoundBy,
}

/// An oracle by its name and the contents of its registry file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinned {
    /// The file's stem.
    pub name: String,
    /// What the file says.
    pub declared: Declared,
}

impl From<&OracleSpec> for Pinned {
    fn from(oracle: &OracleSpec) -> Self {
        Self { name: oracle.name.clone(), declared: oracle.declared.clone() }
    }
}

/// A golden that answered in the oracle's place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnsweringGolden {
    /// Its manifest.
    pub manifest: GoldenManifest,
    /// Ids of the cases that it has answers to.
    pub cases: Vec<String>,
}

/// What both sides were asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Digest of the inputs.
    pub sha256: String,
    /// Ids of the cases, in order.
    pub cases: Vec<String>,
}

impl From<&Workload> for Asked {
    fn from(workload: &Workload) -> Self {
        let cases = workload.cases.iter().map(|case| case.id.clone()).collect();
        Self { sha256: workload.sha256.clone(), cases }
    }
}

impl Facts {
    /// Keeps which checkpoint the subject is given.
    pub fn given(&mut self, checkpoint: &Checkpoint) {
        let Checkpoint { name, sha256, .. } = checkpoint;
        self.checkpoint = Some(GoldenCheckpoint { name: name.clone(), sha256: sha256.clone() });
    }
}
