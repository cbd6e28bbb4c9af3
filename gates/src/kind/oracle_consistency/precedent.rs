//! One record of an oracle against itself, as those who compare somebody else with it cite it.

use records::metric::{Metric, Statistic};
use records::record::{Record, VerdictWord as Word};
use serde::{Deserialize, Serialize};

use super::NAME;
use crate::spec::Condition;

/// What a record of an oracle against itself says.
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
    /// Conditions under which it was asked; empty in evidence older than this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Condition>,
    /// Conditions that it does not have, each with the reason: nothing was seen of them, so that they are no agreement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<(Condition, String)>,
}

impl Precedent {
    /// What `record` says, whose answers come to `word`; `None` where it lacks one of the counts.
    pub(super) fn of(
        record: &Record,
        word: Word,
        seen: Vec<Condition>,
        absent: Vec<(Condition, String)>,
    ) -> Option<Self> {
        let find = |metric| record.measurements.iter().find(|number| number.metric == metric);
        let count = |metric| find(metric)?.value.map(|value| value as u64);
        Some(Self {
            record: record.id.clone(),
            gate: record.gate.clone(),
            oracle: record.oracle.as_ref()?.name.clone(),
            word,
            cases: record.compared,
            flipped: count(Metric::SelfFlippedCases)?,
            choices: count(Metric::SelfChoices)?,
            flips: count(Metric::SelfFlips)?,
            largest_mnats: find(Metric::SelfDifferenceMnats)
                .filter(|number| number.statistic == Statistic::Max)?
                .value,
            seen,
            absent,
        })
    }

    /// An oracle that always agrees with itself: what proofs are judged beside.
    pub(super) fn of_a_silent_oracle(oracle: &str, cases: u64) -> Self {
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
            seen: Condition::ALL.to_vec(),
            absent: Vec::new(),
        }
    }
}
