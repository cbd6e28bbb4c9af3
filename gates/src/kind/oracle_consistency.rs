//! Kind `oracle-consistency`: an oracle against itself, under conditions that must not matter.
//!
//! Nobody else is asked. What an oracle answers alone, one request at a time, is compared with what it answers to the same
//! requests under each other condition, and the conditions among each other. At every position at which both sides have
//! the same prefix their choices must be equal; how far their log-probabilities lie apart there is the oracle's noise.

mod coverage;
mod pair;
mod precedent;
mod precedents;

pub use coverage::Coverage;
pub use pair::{Flip, Pair, compare_pair};
pub use precedent::Precedent;
pub use precedents::{Account, Committed, Comparison, PassedOver, Precedents, Testimony};

use oracles::verbs::Step;
use serde::{Deserialize, Serialize};

use crate::compare;
use crate::spec::{Condition, OracleConsistencyCheck};

/// The kind's name in specs and records.
pub const NAME: &str = "oracle-consistency";

/// What it compares, in words.
pub fn explain(check: &OracleConsistencyCheck) -> String {
    let what = |condition: &Condition| match condition {
        Condition::Repeated => format!("{} times the same, one at a time", check.repeats.0),
        Condition::Together => format!("{} at once", check.batch.0),
        Condition::Prefilled => format!(
            "each choice at up to {} positions read again in a prefill pass",
            check.prefill_positions.0
        ),
        Condition::Warm => "the prompt kept from an earlier request".to_owned(),
        Condition::Execution => "eager instead of compiled, or the nearest to it".to_owned(),
    };
    let mut lines = vec![
        "the oracle against itself; the engine is not asked. Every two of these must choose the same token behind the same \
         prefix, and a repeat must give the same numbers:"
            .to_owned(),
    ];
    lines.extend(
        check.conditions().iter().map(|condition| format!("{condition}: {}", what(condition))),
    );
    lines.extend(
        check
            .absent
            .iter()
            .map(|absent| format!("{}: not applicable, {}", absent.condition, absent.because.0)),
    );
    lines.join("\n")
}

/// Everything that an oracle answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsistencySample {
    /// Ids of the cases, in the order of every arm's answers.
    pub cases: Vec<String>,
    /// Token ids of their prompts, in the same order; none in samples older than this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<Vec<u32>>,
    /// The answers, an arm each; the first is the one that the others are compared with first.
    pub arms: Vec<Arm>,
    /// Conditions that could not be seen, and why.
    pub unseen: Vec<(Condition, String)>,
}

/// All cases answered in one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Under which condition; `None` for the first arm, alone and one at a time.
    pub condition: Option<Condition>,
    /// The command line of the oracle that answered.
    pub flags: Vec<String>,
    /// The answers.
    pub answers: Vec<Answer>,
    /// How many requests were in work at once, where several were meant to be.
    pub at_once: Option<u32>,
    /// Tokens of each prompt that were kept from an earlier request, where some were meant to be.
    pub cached_tokens: Option<Vec<u32>>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The generated ids, or those along which it was read.
    pub ids: Vec<u32>,
    /// Which positions were read, each with the choice and the ranking there.
    pub read: Vec<(usize, Step)>,
}

/// What came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// Cases.
    pub cases: usize,
    /// Every pair of arms, those with the first arm first.
    pub pairs: Vec<Pair>,
    /// The conditions that could not be seen.
    pub unseen: Vec<(Condition, String)>,
}

impl Findings {
    /// The pairs that are not as they must be.
    pub fn broken(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(|pair| !pair.agrees())
    }

    /// The pair with the first arm that has the most cases with another choice: what one comparison with this oracle can cost.
    pub fn worst(&self) -> Option<&Pair> {
        self.pairs.iter().filter(|pair| pair.of.0.is_none()).max_by_key(|pair| pair.flipped())
    }

    /// The largest difference of a log-probability behind the same prefix, over all pairs.
    pub fn largest_mnats(&self) -> Option<f64> {
        compare::largest(self.pairs.iter().filter_map(|pair| pair.largest_mnats))
    }
}

/// Compares every two arms. Conditions of the check that neither answered nor were told to be unseen count as unseen.
pub fn judge(check: &OracleConsistencyCheck, sample: &ConsistencySample) -> Findings {
    let mut pairs = Vec::new();
    for (index, first) in sample.arms.iter().enumerate() {
        for second in &sample.arms[index + 1..] {
            // Repeats are compared with the first run alone: equal to it, they are equal to each other.
            let among_repeats = index > 0
                && [first, second].iter().any(|arm| arm.condition == Some(Condition::Repeated));
            if !among_repeats {
                pairs.push(compare_pair(&sample.cases, first, second));
            }
        }
    }
    let mut unseen = sample.unseen.clone();
    for condition in check.conditions() {
        let is_known = sample.arms.iter().any(|arm| arm.condition == Some(condition))
            || unseen.iter().any(|(known, _)| *known == condition);
        if !is_known {
            unseen.push((condition, "nothing was collected".to_owned()));
        }
    }
    Findings { cases: sample.cases.len(), pairs, unseen }
}
