//! Everything that one run of a gate works with, resolved and pinned before anything is measured.

use oracles::Progress;
use oracles::checkpoint::Checkpoint;
use oracles::golden::Noise;
use oracles::registry::OracleSpec;
use oracles::verbs::Identity;
use records::record::OracleSource;

use crate::facts::Facts;
use crate::journal::Journal;
use crate::judge::Trouble;
use crate::regressions::Regressions;
use crate::spec::NamedSpec;
use crate::subject::{FoundBy, Info, Subject};
use crate::supplies::{Supplies, Wanted};
use crate::workload::Workload;

/// The subject's binary as the record names it.
#[derive(Debug, Clone)]
pub struct SubjectIdentity {
    /// SHA-256 of the binary.
    pub binary_sha256: String,
    /// How it was found.
    pub found_by: FoundBy,
    /// What it says about itself, without a model.
    pub info: Info,
}

/// One gate, ready to run.
pub struct Bench<'a> {
    /// The gate.
    pub gate: &'a NamedSpec,
    /// Its inputs; `None` for a corpus that brings its own.
    pub workload: Option<&'a Workload>,
    /// Its list of inputs that once failed, where it is a regression gate.
    pub regressions: Option<&'a Regressions>,
    /// Its pinned oracle; `None` where the engine is judged alone.
    pub oracle: Option<&'a OracleSpec>,
    /// The engine under test.
    pub subject: Subject<'a>,
    /// What that engine is.
    pub identity: &'a SubjectIdentity,
    /// What is known before anything is asked: the gate and both builds.
    pub facts: Facts,
    /// Checkpoint, oracle, golden, vocabularies.
    pub supplies: &'a dyn Supplies,
    /// Live oracle or golden.
    pub wanted: Wanted,
    /// Where progress is shown.
    pub progress: Progress,
    /// What was answered so far; none where nothing is remembered.
    pub journal: Option<&'a Journal>,
}

impl Bench<'_> {
    /// Whether the oracle is another one than the spec's: such a run decides no track.
    pub fn is_crossed(&self) -> bool {
        self.oracle.is_some_and(|oracle| self.gate.spec.oracle.as_ref() != Some(&oracle.name))
    }

    /// The oracle of a kind that compares with one; `spec::parse` demands the key of it.
    pub fn pinned(&self) -> Result<&OracleSpec, Trouble> {
        self.oracle.ok_or_else(|| Trouble::Skip("the gate names no oracle".to_owned()))
    }
}

/// Whose answers were compared with.
#[derive(Debug, Clone)]
pub struct ReferenceInfo {
    /// Live or golden.
    pub source: OracleSource,
    /// When the golden was captured.
    pub captured_at: Option<String>,
    /// Who answered.
    pub identity: Identity,
    /// SHA-256 of the manifest of the golden that answered or, beside a live oracle, that holds its noise.
    pub golden_sha256: Option<String>,
    /// How far the oracle is from itself, where its golden has it measured.
    pub noise: Option<Noise>,
}

impl ReferenceInfo {
    /// A running oracle, without a golden.
    pub fn live(identity: Identity) -> Self {
        let source = OracleSource::Live;
        Self { source, captured_at: None, identity, golden_sha256: None, noise: None }
    }
}

/// What is known about a run beside its samples; it fills while the run goes on, so that a run that stops half-way still
/// says how far it came.
#[derive(Debug, Clone, Default)]
pub struct Circumstances {
    /// Whose answers.
    pub reference: Option<ReferenceInfo>,
    /// On what.
    pub checkpoint: Option<Checkpoint>,
    /// What the rules are asked of.
    pub facts: Facts,
    /// Wall time of the subject's answers.
    pub subject_ms: Option<u64>,
    /// Wall time of the oracle's answers.
    pub oracle_ms: Option<u64>,
}

impl Circumstances {
    /// Wall time of all answers of both sides, in milliseconds, loading included.
    pub fn answers_ms(&self) -> u64 {
        [self.subject_ms, self.oracle_ms].into_iter().flatten().sum()
    }
}
