//! The legs of a plan, each with what became of it. Names are borrowed from the files: there may be a million legs.

use std::borrow::{Borrow, Cow};
use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::{CLOCK_OFF_PERCENT, Violation};

/// A leg.
pub(in crate::review::series) struct Leg<'t> {
    pub(in crate::review::series) id: Cow<'t, str>,
    /// The place of its cell among the plan's.
    pub(in crate::review::series) cell: usize,
    /// The place of its arm among those of the evidence.
    pub(in crate::review::series) arm: usize,
    pub(in crate::review::series) block: Option<u64>,
    /// Whether it is judged.
    pub(in crate::review::series) is_measured: bool,
    pub(in crate::review::series) outcome: Option<Outcome<'t>>,
}

/// A leg as it stands in the plan.
#[derive(Deserialize)]
pub(super) struct Planned<'t> {
    #[serde(borrow)]
    id: Cow<'t, str>,
    #[serde(borrow)]
    cell: Cow<'t, str>,
    block: Option<u64>,
    #[serde(borrow)]
    arm: Cow<'t, str>,
    #[serde(borrow)]
    role: Cow<'t, str>,
}

/// What became of the legs, by their ids.
pub(super) type Outcomes<'t> = HashMap<Name<'t>, Outcome<'t>>;

#[derive(Deserialize)]
pub(in crate::review::series) struct Outcome<'t> {
    pub(in crate::review::series) at_s: f64,
    #[serde(borrow)]
    pub(in crate::review::series) ended: Ended<'t>,
    #[serde(default)]
    pub(in crate::review::series) violations: Vec<Violation>,
    pub(in crate::review::series) clock: Option<Clock>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::review::series) enum Ended<'t> {
    #[serde(borrow)]
    Measured(Metrics<'t>),
    Failed(String),
    Skipped(String),
}

#[derive(Clone, Copy, Deserialize)]
pub(in crate::review::series) struct Clock {
    pub(in crate::review::series) mean: f64,
    pub(in crate::review::series) median: f64,
}

impl Clock {
    /// Whether a ratio of the two legs would not be the clock's. A clock that is no number is near none.
    fn is_near(self, other: Self) -> bool {
        let is_near = |a: f64, b: f64| 100.0 * (a / b - 1.0).abs() <= CLOCK_OFF_PERCENT;
        is_near(self.mean, other.mean) && is_near(self.median, other.median)
    }
}

/// A name as it stands in a file.
#[derive(Deserialize, Hash, PartialEq, Eq)]
#[serde(transparent)]
pub(super) struct Name<'t>(#[serde(borrow)] Cow<'t, str>);

impl Borrow<str> for Name<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The metrics of a leg: few, so that a search is a walk.
pub(in crate::review::series) struct Metrics<'t>(Vec<(Name<'t>, f64)>);

impl Metrics<'_> {
    /// The metric of that name, where it is a positive number.
    fn get(&self, name: &str) -> Option<f64> {
        let (_, value) = self.0.iter().find(|(own, _)| own.0 == name)?;
        Some(*value).filter(|value| value.is_finite() && *value > 0.0)
    }
}

impl<'de: 't, 't> Deserialize<'de> for Metrics<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of<'t>(std::marker::PhantomData<&'t str>);
        impl<'de: 't, 't> Visitor<'de> for Of<'t> {
            type Value = Metrics<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("metrics by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut metrics = Vec::new();
                while let Some(entry) = map.next_entry::<Name<'t>, f64>()? {
                    metrics.push(entry);
                }
                Ok(Metrics(metrics))
            }
        }
        deserializer.deserialize_map(Of(std::marker::PhantomData))
    }
}

impl<'t> Outcome<'t> {
    /// The metrics of a leg that ended well and broke no rule.
    fn metrics(&self) -> Option<&Metrics<'t>> {
        match &self.ended {
            Ended::Measured(metrics) if self.violations.is_empty() => Some(metrics),
            Ended::Measured(_) | Ended::Failed(_) | Ended::Skipped(_) => None,
        }
    }

    /// Whether it has numbers.
    pub(super) fn is_clean(&self) -> bool {
        self.metrics().is_some()
    }

    /// A metric, where the leg ended well, broke no rule and has one that is a positive number.
    pub(super) fn metric(&self, name: &str) -> Option<f64> {
        self.metrics()?.get(name)
    }

    /// Why a leg that was begun is no number: the rules that it broke, or that it failed.
    pub(in crate::review::series) fn broke(&self) -> Option<String> {
        match &self.ended {
            Ended::Failed(_) => Some("failed".to_owned()),
            Ended::Measured(_) if !self.violations.is_empty() => {
                let mut rules: Vec<&str> =
                    self.violations.iter().map(|found| found.rule.as_str()).collect();
                rules.sort_unstable();
                rules.dedup();
                Some(rules.join(", "))
            }
            Ended::Measured(_) | Ended::Skipped(_) => None,
        }
    }

    /// Whether the clocks of two legs were seen and lie too far apart for a ratio.
    pub(in crate::review::series) fn is_apart(&self, other: &Self) -> bool {
        self.clock.zip(other.clock).is_some_and(|(clock, other)| !clock.is_near(other))
    }
}

/// The legs in the order of the plan with their outcomes, and the arms in the order in which they come; the error names a leg that is at
/// none of the cells.
pub(super) fn joined<'t>(
    planned: Vec<Planned<'t>>,
    mut outcomes: Outcomes<'t>,
    cells: &[&str],
) -> Result<(Vec<Leg<'t>>, Vec<String>), String> {
    let mut arms: Vec<String> = Vec::new();
    let mut legs = Vec::with_capacity(planned.len());
    for Planned { id, cell, block, arm, role } in planned {
        let Some(cell) = cells.iter().position(|own| *own == cell) else {
            return Err(format!("plan.json: leg {id} is at {cell}, which is no cell of the plan"));
        };
        let arm = arms.iter().position(|own| *own == arm).unwrap_or_else(|| {
            arms.push(arm.into_owned());
            arms.len() - 1
        });
        let outcome = outcomes.remove(&*id);
        legs.push(Leg { id, cell, arm, block, is_measured: role == "measured", outcome });
    }
    Ok((legs, arms))
}
