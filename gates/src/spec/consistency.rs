//! The tables of the kinds about the oracle's own noise: `[check.oracle-consistency]` and `[check.noise-rate]`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Because, Positive, Spec};
use crate::kind;

/// `[check.oracle-consistency]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OracleConsistencyCheck {
    /// How often everything is asked one at a time; at least twice.
    pub repeats: Positive,
    /// How many requests are in work at once.
    pub batch: Positive,
    /// Positions of each answer that are read again in a prefill pass.
    pub prefill_positions: Positive,
    /// Conditions that this oracle does not have, each with the reason; every other one must be seen.
    #[serde(default)]
    pub absent: Vec<Absent>,
}

/// A condition that an oracle does not have.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Absent {
    /// Which.
    pub condition: Condition,
    /// Why.
    pub because: Because,
}

/// Under which condition an oracle is asked, when it has been asked alone and one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// The same once more.
    Repeated,
    /// Several requests at once.
    Together,
    /// Each choice read in a prefill pass over the prompt and the answer so far.
    Prefilled,
    /// The prompt kept from an earlier request.
    Warm,
    /// Eager where it is compiled, or what the oracle has of that kind.
    Execution,
}

impl Condition {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Self; 5] =
        [Self::Repeated, Self::Together, Self::Prefilled, Self::Warm, Self::Execution];

    /// As specs and reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Repeated => "repeated",
            Self::Together => "together",
            Self::Prefilled => "prefilled",
            Self::Warm => "warm",
            Self::Execution => "execution",
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl OracleConsistencyCheck {
    /// The conditions that must be seen.
    pub fn conditions(&self) -> Vec<Condition> {
        let is_absent =
            |condition: &Condition| self.absent.iter().any(|absent| absent.condition == *condition);
        Condition::ALL.into_iter().filter(|condition| !is_absent(condition)).collect()
    }
}

/// `[check.noise-rate]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NoiseRateCheck {
    /// Significance of the one-sided exact test, above 0 and at most 0.1.
    pub alpha: Alpha,
    /// Why this level.
    pub because: Because,
}

/// A level of significance.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub struct Alpha(pub f64);

impl TryFrom<f64> for Alpha {
    type Error = &'static str;
    fn try_from(value: f64) -> Result<Self, Self::Error> {
        if value > 0.0 && value <= 0.1 {
            Ok(Self(value))
        } else {
            Err("a level of significance is above 0 and at most 0.1")
        }
    }
}

/// What oracle-consistency demands of the other keys.
pub(super) fn inconsistency(spec: &Spec, check: &OracleConsistencyCheck) -> Option<&'static str> {
    if kind::names(spec).len() > 1 + usize::from(spec.check.budget.is_some()) {
        return Some(
            "[check.oracle-consistency] judges the oracle: other kinds are separate gates",
        );
    }
    if spec.oracle.is_none()
        || spec.checkpoint.is_none()
        || spec.inputs.is_none()
        || spec.generate.is_none()
    {
        return Some(
            "[check.oracle-consistency] needs `oracle`, `checkpoint`, `inputs` and [generate]",
        );
    }
    if spec.profile.is_some() {
        return Some("`profile` is of the engine, which [check.oracle-consistency] does not ask");
    }
    if check.repeats.0 < 2 || check.batch.0 < 2 {
        return Some("[check.oracle-consistency] repeats and batch are at least 2");
    }
    let mut absent: Vec<Condition> = check.absent.iter().map(|absent| absent.condition).collect();
    absent.sort_unstable();
    if absent.windows(2).any(|pair| pair[0] == pair[1]) {
        return Some("[[check.oracle-consistency.absent]] names a condition twice");
    }
    if absent.contains(&Condition::Repeated) || check.conditions().len() < 2 {
        return Some(
            "[[check.oracle-consistency.absent]] leaves nothing: an oracle can be asked again, and in one other way",
        );
    }
    None
}
