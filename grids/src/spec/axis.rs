//! `[[axis]]` and `[[control]]`: which metrics are judged, and by what bounds.

use serde::{Deserialize, Serialize};

use super::bounds::Bound;
use crate::statistics::estimate::Statistic;

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Throughput, goodput.
    Higher,
    /// Latency, memory, energy.
    Lower,
}

/// How a metric follows the clock: what it is in cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// A duration: in cycles it is times the clock.
    Time,
    /// Something per second: in cycles it is divided by the clock.
    Rate,
    /// Bytes, counts: the clock has no part in it.
    Clockless,
}

/// What is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// Not worse than the reference by more than the margin: PASS or FAIL.
    Parity,
    /// Whether the change moved it beyond what the set-up resolves: IMPROVED or REGRESSED.
    Change,
}

/// `[[axis]]`: one metric that is judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Axis {
    /// Its name among the metrics of a leg.
    pub metric: String,
    /// Which way is better.
    pub direction: Direction,
    /// How it follows the clock.
    pub scale: Scale,
    /// What is to be shown.
    pub claim: Claim,
    /// How it behaves from run to run.
    #[serde(default)]
    pub statistic: Statistic,
    /// m: how much worse is not yet worse. Of parity alone.
    pub margin: Option<Bound>,
    /// e: how different is still the same.
    pub equivalence: Option<Bound>,
    /// The least floor, whatever the null arm shows.
    pub floor: Bound,
}

impl Axis {
    /// m as a log ratio, 0 for a claim of change.
    pub fn margin(&self) -> f64 {
        self.margin.as_ref().map_or(0.0, Bound::log)
    }

    /// What one key demands of another.
    pub(super) fn inconsistency(&self) -> Option<String> {
        let metric = &self.metric;
        match (self.claim, &self.margin, &self.equivalence) {
            (Claim::Parity, None, _) => {
                Some(format!("[[axis]] {metric}: claim \"parity\" needs `margin`"))
            }
            (Claim::Change, Some(_), _) => Some(format!(
                "[[axis]] {metric}: claim \"change\" has no `margin`; its bound is the floor"
            )),
            (Claim::Parity, Some(margin), Some(band)) if band.log() > margin.log() => {
                Some(format!(
                    "[[axis]] {metric}: equivalence of {} percent is wider than the margin of {}: the same could be a failure",
                    band.percent.0, margin.percent.0
                ))
            }
            _ => None,
        }
    }
}

/// What a control is expected to do between the arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expect {
    /// The change cannot move it: if it moves, something else did.
    Still,
    /// The change must move it: if it does not, the arms do not differ.
    Moves,
}

/// `[[control]]`: one metric that shows whether the comparison is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Control {
    /// Its name among the metrics of a leg.
    pub metric: String,
    /// What it has to do.
    pub expect: Expect,
    /// Beyond this it has moved.
    pub bound: Bound,
}
