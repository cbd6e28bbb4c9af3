//! What became of a leg.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clocks::bound::CLOCK_OFF_PERCENT;
use crate::rule::Violation;

/// The outcomes of a series by the ids of their legs.
pub type Outcomes = BTreeMap<String, Outcome>;

/// What became of a leg.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// SHA-256 of the plan that it belongs to.
    pub plan_sha256: String,
    /// When it began, in seconds since the series did, on a clock that only goes forward.
    pub at_s: f64,
    /// How it ended.
    pub ended: Ended,
    /// Every rule that it broke, by its traces, its clock window and the host.
    pub violations: Vec<Violation>,
    /// SHA-256 of what its server was asked: the ordered list of prompts and lengths.
    pub workload_sha256: String,
    /// The clock while it ran; none where no clock can be seen.
    pub clock: Option<Clock>,
    /// The name of the machine that it ran on ([`super::machine`]); empty where nothing says which.
    #[serde(default)]
    pub machine: String,
    /// Earlier runs of the leg, which the machine spoilt, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spoilt: Vec<Spoilt>,
}

/// A run of a leg that broke rules about the machine alone, and was followed by another. It is no number, so none is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spoilt {
    /// When it began, as an outcome's.
    pub at_s: f64,
    /// What it broke.
    pub violations: Vec<Violation>,
}

/// How a leg ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// It ran; its metrics by name. One that could not be derived is absent.
    Measured(BTreeMap<String, f64>),
    /// It did not come to an end: the server died, the load broke off.
    Failed(String),
    /// It was not begun, because something that it needs is missing.
    Skipped(String),
}

/// The busy clock of a leg's window, in MHz or in steps per microsecond of a calibrated spin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Mean over the window.
    pub mean: f64,
    /// Median over the window.
    pub median: f64,
}

impl Clock {
    /// By how much it is off another, by mean and by median: over it, less 1.
    pub fn off(self, reference: Self) -> (f64, f64) {
        (self.mean / reference.mean - 1.0, self.median / reference.median - 1.0)
    }

    /// V-CLOCK-OFF of one pair: both are at most [`CLOCK_OFF_PERCENT`].
    pub fn is_near(self, reference: Self) -> bool {
        let (mean, median) = self.off(reference);
        [mean, median].iter().all(|off| 100.0 * off.abs() <= CLOCK_OFF_PERCENT)
    }
}

impl Outcome {
    /// It was begun: nothing that it needs was missing.
    pub fn was_begun(&self) -> bool {
        !matches!(self.ended, Ended::Skipped(_))
    }

    /// It was measured and broke no rule of its own.
    pub fn is_clean(&self) -> bool {
        matches!(self.ended, Ended::Measured(_)) && self.violations.is_empty()
    }

    /// The value of a metric, if the leg ended well and has one that is a positive finite number.
    pub fn metric(&self, name: &str) -> Option<f64> {
        match &self.ended {
            Ended::Measured(metrics) => {
                metrics.get(name).copied().filter(|value| value.is_finite() && *value > 0.0)
            }
            Ended::Failed(_) | Ended::Skipped(_) => None,
        }
    }
}
