//! `gate recheck RUN`: the verdict derived once more, from the evidence alone.
//!
//! Nothing is run and nothing is fetched. Every file is verified by its hash first, so an edited byte is noticed; then the
//! judge is given what it was given then, under the spec of then, and must say the same.

use std::path::Path;

use records::metric::{Measurement, Metric};
use records::record::Record;
use records::store::Store;

use crate::evidence::{EvidenceError, Kept};
use crate::judge::{self, Judgement};
use crate::spec::{self, SpecError};

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

/// Derives the verdict of `record` again.
pub fn recheck(store: &Store, record: &Record) -> Result<Recheck, RecheckError> {
    let kept = Kept::read(store, record)?;
    let path = format!("gates/specs/{}.toml", record.gate);
    let spec = spec::parse(&kept.spec, Path::new(&path));
    let spec = spec.map_err(|source| RecheckError::Spec { record: record.id.clone(), source })?;
    let judgement = judge::judge(&spec, &kept.collected, &kept.facts, kept.precedents.as_ref());
    let judgement = match kept.elapsed_ms {
        Some(elapsed) => judgement.timed(&spec, elapsed),
        None => judgement,
    };
    let mut differences = differences(record, &judgement);
    if oracles::digest::sha256_bytes(kept.spec.as_bytes()) != record.spec_sha256 {
        differences.push("the spec that is kept is not the one that the record names".to_owned());
    }
    let derived = format!("{}: {}", judgement.word.as_str(), judgement.reason);
    Ok(Recheck { derived, differences })
}

fn differences(record: &Record, judgement: &Judgement) -> Vec<String> {
    let rules: Vec<String> = judgement.rules.iter().map(|rule| rule.id().to_owned()).collect();
    let numbers: Vec<_> = record.measurements.iter().filter(|number| !is_beside(number)).collect();
    let same = [
        ("another word", record.verdict.word == judgement.word),
        ("other rules", record.verdict.rules == rules),
        ("another reason", record.verdict.reason == judgement.reason),
        ("another number of cases", record.compared == judgement.compared),
        ("other numbers", numbers == judgement.measurements.iter().collect::<Vec<_>>()),
        ("other divergences", record.divergences == judgement.divergences),
    ];
    let differ = same.into_iter().filter(|(_, same)| !same);
    differ.map(|(what, _)| format!("the record has {what} than its evidence gives")).collect()
}

/// What a run adds beside what was judged: its own clock, and the oracle's noise.
fn is_beside(number: &Measurement) -> bool {
    let beside =
        [Metric::SubjectMs, Metric::OracleMs, Metric::OracleNoiseMnats, Metric::OracleFlips];
    beside.contains(&number.metric)
}
