//! What is on record about an oracle's own noise, when somebody else is compared with it.

use records::metric::{Metric, Statistic};
use records::record::{Record, VerdictWord as Word};
use serde::{Deserialize, Serialize};

use super::NAME;

/// The latest record of an oracle against itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Precedent {
    /// Id of the record.
    pub record: String,
    /// Its gate.
    pub gate: String,
    /// Name of the oracle.
    pub oracle: String,
    /// PASS where the oracle agrees with itself, FAIL where not.
    pub word: Word,
    /// Cases that it was asked.
    pub cases: u64,
    /// Cases with another choice, under the condition that changes most of them.
    pub flipped: u64,
    /// Choices compared, over all pairs of conditions.
    pub choices: u64,
    /// Those that differ.
    pub flips: u64,
    /// Largest difference of a log-probability behind the same prefix, in milli-nats; `None` where none was reported.
    pub largest_mnats: Option<f64>,
}

impl Precedent {
    /// The latest record that judged the oracle of this name and source on this checkpoint and came to a verdict.
    pub fn latest(
        records: &[Record],
        oracle: &str,
        source_sha256: &str,
        checkpoint_sha256: &str,
    ) -> Option<Self> {
        let is_about = |record: &&Record| {
            let judged = record.oracle.as_ref().is_some_and(|judged| {
                judged.name == oracle
                    && judged.identity.get("source_sha256").and_then(serde_json::Value::as_str)
                        == Some(source_sha256)
            });
            let on = record.checkpoint.as_ref().map(|checkpoint| checkpoint.sha256.as_str());
            judged
                && on == Some(checkpoint_sha256)
                && record.kinds.iter().any(|kind| kind == NAME)
                && matches!(record.verdict.word, Word::Pass | Word::Fail)
        };
        let latest = records.iter().filter(is_about).max_by_key(|record| record.started_at)?;
        Self::of(latest, oracle)
    }

    /// `None` where the record lacks one of the counts.
    fn of(record: &Record, oracle: &str) -> Option<Self> {
        let find = |metric| record.measurements.iter().find(|number| number.metric == metric);
        let count = |metric| find(metric)?.value.map(|value| value as u64);
        Some(Self {
            record: record.id.clone(),
            gate: record.gate.clone(),
            oracle: oracle.to_owned(),
            word: record.verdict.word,
            cases: record.compared,
            flipped: count(Metric::SelfFlippedCases)?,
            choices: count(Metric::SelfChoices)?,
            flips: count(Metric::SelfFlips)?,
            largest_mnats: find(Metric::SelfDifferenceMnats)
                .filter(|number| number.statistic == Statistic::Max)?
                .value,
        })
    }

    /// An oracle that always agrees with itself: what proofs are judged beside.
    pub fn of_a_silent_oracle(oracle: &str, cases: u64) -> Self {
        Self {
            record: "none: an oracle that never contradicts itself".to_owned(),
            gate: NAME.to_owned(),
            oracle: oracle.to_owned(),
            word: Word::Pass,
            cases,
            flipped: 0,
            choices: cases,
            flips: 0,
            largest_mnats: Some(0.0),
        }
    }
}
