//! What a run of an oracle against itself has looked at, so that one run can be said to have looked at all that another has.

use std::collections::BTreeSet;

use super::ConsistencySample;
use crate::spec::{Condition, Spec};

/// How far a run has looked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// SHA-256 of the inputs.
    pub inputs_sha256: Option<String>,
    /// Ids of the cases.
    pub cases: BTreeSet<String>,
    /// Token ids of each prompt; empty in samples older than this.
    pub prompts: BTreeSet<Vec<u32>>,
    /// Tokens that each answer may have.
    pub tokens: u32,
    /// Conditions under which the oracle answered. One that it does not have is none of them.
    pub seen: BTreeSet<Condition>,
    /// How often each prompt was asked alone.
    pub repeats: u32,
    /// Requests in work at once.
    pub batch: u32,
    /// Positions of each answer that were read again in a prefill pass.
    pub prefill_positions: u32,
}

impl Coverage {
    /// What was looked at in a sample that was collected under `spec`; `None` where the spec is of another kind.
    pub fn of(
        spec: &Spec,
        inputs_sha256: Option<&str>,
        sample: &ConsistencySample,
    ) -> Option<Self> {
        let (check, generate) = (spec.check.oracle_consistency.as_ref()?, spec.generate.as_ref()?);
        Some(Self {
            inputs_sha256: inputs_sha256.map(str::to_owned),
            cases: sample.cases.iter().cloned().collect(),
            prompts: sample.prompts.iter().cloned().collect(),
            tokens: generate.max_tokens.0,
            seen: sample.arms.iter().filter_map(|arm| arm.condition).collect(),
            repeats: check.repeats.0,
            batch: check.batch.0,
            prefill_positions: check.prefill_positions.0,
        })
    }

    /// Whether all that `other` has looked at was looked at here too: the same prompts and conditions or more of them, answers
    /// as long, as often, as many at once, as many positions.
    pub fn includes(&self, other: &Self) -> bool {
        self.has_cases_of(other)
            && self.seen.is_superset(&other.seen)
            && self.tokens >= other.tokens
            && self.repeats >= other.repeats
            && self.batch >= other.batch
            && self.prefill_positions >= other.prefill_positions
    }

    /// Cases are the same by their id in the same inputs, or by their prompt; by their id alone they are not.
    fn has_cases_of(&self, other: &Self) -> bool {
        let same_inputs = self.inputs_sha256.is_some() && self.inputs_sha256 == other.inputs_sha256;
        let by_id = same_inputs && self.cases.is_superset(&other.cases);
        by_id || (!other.prompts.is_empty() && self.prompts.is_superset(&other.prompts))
    }
}
