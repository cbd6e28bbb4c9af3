//! What is known about a run beside its samples: the builds, who answered for the oracle and how it was pinned, on what, and
//! what was asked. The validity rules are asked of it by the judge, so it is kept as evidence; nothing in it is a verdict.

use oracles::Home;
use oracles::checkpoint::Checkpoint;
use oracles::golden::{GoldenCheckpoint, GoldenManifest, Noise};
use oracles::registry::{Declared, OracleSpec};
use oracles::verbs::Identity;
use records::record::OracleSource;
use serde::{Deserialize, Serialize};

use crate::bench::{Bench, ReferenceInfo};
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
    /// Where those answers came from; `None` in evidence older than this field.
    pub answers: Option<Answers>,
    /// How far the oracle is from itself, where its golden has it measured.
    pub noise: Option<Noise>,
    /// The golden that answered.
    pub golden: Option<AnsweringGolden>,
    /// The checkpoint that the subject was given.
    pub checkpoint: Option<GoldenCheckpoint>,
    /// What was asked.
    pub asked: Option<Asked>,
    /// What was resolved before anything was asked; `None` in evidence older than this field.
    pub prepared: Option<Prepared>,
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

/// What a run resolves before it asks anything. No rule asks for it; the record names it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    /// SHA-256 of the engine's binary.
    pub binary_sha256: String,
    /// How it was found.
    pub found_by: FoundBy,
    /// What the engine says of itself without a model.
    pub info: Info,
    /// SHA-256 of the inputs, or of the list of inputs that once failed.
    pub inputs_sha256: Option<String>,
    /// SHA-256 of the oracle's definition; `None` where it cannot be read, and a word without it lapses.
    pub definition_sha256: Option<String>,
}

impl Prepared {
    /// Of a run on `bench`.
    pub fn of(bench: &Bench<'_>, home: &Home) -> Self {
        let inputs = bench.workload.map(|workload| workload.sha256.clone());
        let regressions = || bench.regressions.map(|list| list.sha256.clone());
        Self {
            binary_sha256: bench.identity.binary_sha256.clone(),
            found_by: bench.identity.found_by,
            info: bench.identity.info.clone(),
            inputs_sha256: inputs.or_else(regressions),
            definition_sha256: bench.oracle.and_then(|spec| spec.definition_sha256(home).ok()),
        }
    }
}

/// Where an oracle's answers came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// Live or golden.
    pub source: OracleSource,
    /// When the golden was captured.
    pub captured_at: Option<String>,
    /// SHA-256 of the manifest of the golden that answered or, beside a live oracle, that holds its noise.
    pub golden_sha256: Option<String>,
}

impl From<&ReferenceInfo> for Answers {
    fn from(reference: &ReferenceInfo) -> Self {
        Self {
            source: reference.source,
            captured_at: reference.captured_at.clone(),
            golden_sha256: reference.golden_sha256.clone(),
        }
    }
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
