//! `gate recheck RUN`: the verdict derived once more, from the evidence alone.
//!
//! Nothing is run and nothing is fetched. Every file is verified by its hash first, so an edited byte is noticed; then the
//! judge is given what it was given then, under the spec of then, and must say the same. So must [`Derived`], of who was judged
//! by whom on what. What is left of a record is listed in [`NOT_DERIVED`].

use std::path::Path;

use records::metric::{Measurement, Metric};
use records::record::Record;
use records::store::Store;

use crate::derived::{self, Derived};
use crate::evidence::{EvidenceError, Kept};
use crate::facts::Facts;
use crate::judge::{self, Judgement};
use crate::kind;
use crate::spec::{self, Spec, SpecError};

/// A verdict that could not be derived again.
#[derive(Debug, thiserror::Error)]
pub enum RecheckError {
    /// The evidence is missing, damaged or of an older form.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The spec that was kept does not parse any more.
    #[error("the spec that {record} keeps")]
    Spec {
        /// Id of the record.
        record: String,
        /// Why.
        #[source]
        source: SpecError,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recheck {
    /// The verdict as the evidence gives it.
    pub derived: String,
    /// What the record says otherwise, a sentence each; empty where all is the same.
    pub differences: Vec<String>,
}

/// The judge asked again, with the evidence of a record alone.
#[derive(Debug)]
pub struct Again {
    /// The evidence.
    pub kept: Kept,
    /// The spec that it keeps.
    pub spec: Spec,
    /// What the judge says.
    pub judgement: Judgement,
}

/// Derives the verdict of `record` again.
pub fn recheck(store: &Store, record: &Record) -> Result<Recheck, RecheckError> {
    Ok(judged_again(store, record)?.compared(record))
}

/// Asks the judge again.
pub fn judged_again(store: &Store, record: &Record) -> Result<Again, RecheckError> {
    let kept = Kept::read(store, record)?;
    let path = format!("gates/specs/{}.toml", record.gate);
    let spec = spec::parse(&kept.spec, Path::new(&path));
    let spec = spec.map_err(|source| RecheckError::Spec { record: record.id.clone(), source })?;
    let judgement = judge::judge(&spec, &kept.collected, &kept.facts, kept.precedents.as_ref());
    let judgement = match kept.elapsed_ms {
        Some(elapsed) => judgement.timed(&spec, elapsed),
        None => judgement,
    };
    Ok(Again { kept, spec, judgement })
}

impl Again {
    /// What was derived, beside what the record says.
    pub fn compared(&self, record: &Record) -> Recheck {
        let Self { kept, spec, judgement } = self;
        let mut found = differences(record, judgement);
        found.extend(beside(record, spec, &kept.facts, judgement));
        if oracles::digest::sha256_bytes(kept.spec.as_bytes()) != record.spec_sha256 {
            found.push("the spec that is kept is not the one that the record names".to_owned());
        }
        let derived = format!("{}: {}", judgement.word.as_str(), judgement.reason);
        Recheck { derived, differences: found }
    }
}

/// What of a record no evidence tells: when and where it was made, by which command, in how many pieces, how long its clock ran,
/// and which record it corrects. Its id and schema version are the store's to check, and each file of its evidence has its hash.
/// Of records older than [`crate::facts::Prepared`] subject, oracle, checkpoint, inputs and harness are not derived either.
pub const NOT_DERIVED: [&str; 11] = [
    "schema_version",
    "id",
    "started_at",
    "duration_ms",
    "machine",
    "evidence",
    "reproduce",
    "supersedes",
    "resumed_answers",
    "measurements subject_ms",
    "measurements oracle_ms",
];

fn differences(record: &Record, judgement: &Judgement) -> Vec<String> {
    let rules: Vec<String> = judgement.rules.iter().map(|rule| rule.id().to_owned()).collect();
    named(&[
        ("another word", record.verdict.word == judgement.word),
        ("other rules", record.verdict.rules == rules),
        ("another reason", record.verdict.reason == judgement.reason),
        ("another number of cases", record.compared == judgement.compared),
        ("other divergences", record.divergences == judgement.divergences),
    ])
}

/// What the record says beside the verdict.
fn beside(record: &Record, spec: &Spec, facts: &Facts, judgement: &Judgement) -> Vec<String> {
    let kinds = kind::names(spec);
    let Some(prepared) = &facts.prepared else {
        let numbers = judgement.measurements.iter();
        return named(&[
            ("other kinds", record.kinds == kinds),
            ("other numbers", numbers.eq(judged(record, &[CLOCK, NOISE].concat()))),
        ]);
    };
    let derived = Derived::of(spec, facts, prepared);
    let numbers = derived::measurements(judgement, facts);
    named(&[
        ("another gate", record.gate == derived.gate),
        ("other kinds", record.kinds == derived.kinds),
        ("another subject", record.subject == derived.subject),
        ("another oracle", record.oracle == derived.oracle),
        ("another checkpoint", record.checkpoint == derived.checkpoint),
        ("other inputs", record.inputs_sha256 == derived.inputs_sha256),
        ("another harness", record.harness_sha256 == derived.harness_sha256),
        ("other numbers", numbers.iter().eq(judged(record, &CLOCK))),
    ])
}

/// The run's own clock.
const CLOCK: [Metric; 2] = [Metric::SubjectMs, Metric::OracleMs];
/// The oracle's noise.
const NOISE: [Metric; 2] = [Metric::OracleNoiseMnats, Metric::OracleFlips];

/// The numbers of a record but those.
fn judged<'a>(record: &'a Record, but: &'a [Metric]) -> impl Iterator<Item = &'a Measurement> {
    record.measurements.iter().filter(|number| !but.contains(&number.metric))
}

/// A sentence for each that is not the same.
fn named(same: &[(&str, bool)]) -> Vec<String> {
    let differ = same.iter().filter(|(_, same)| !same);
    differ.map(|(what, _)| format!("the record has {what} than its evidence gives")).collect()
}
