//! What shows that a comparison is one: the null arm, the controls, the first arm at the end, and a machine that stood still.

use serde::{Deserialize, Serialize};

use super::pairing::{Measure, pair};
use crate::rule::{Rule, Violation};
use crate::series::{Comparison, Ended, Leg, Outcome, Outcomes, Plan, Role};
use crate::spec::{Axis, Control, Direction, Expect, Scale};
use crate::statistics::distribution::t_quantile;
use crate::statistics::drift::{self, Drift};
use crate::statistics::estimate::{Estimator, Statistic};
use crate::statistics::interval::Interval;
use crate::statistics::step::{self, Step};
use crate::statistics::{deviation, floor, mean, median};

/// p-value below which a trend or a jump of the reference is believed.
const MOVED: f64 = 0.01;
/// Over the whole plan, how often the repeated first arm may be taken for another by chance.
const TERMINAL: f64 = 0.01;
/// The share of sound series that neither the repeated first arm nor a trend or a jump by chance withholds a word from.
pub(super) const UNTROUBLED: f64 = 1.0 - TERMINAL - 2.0 * MOVED;

/// What the null arm showed for one axis at one cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Null {
    /// Twin over arm, at the plan's level.
    pub interval: Interval,
    /// The same at the level shared among all null arms of the plan, by which V-NULL is judged.
    pub shared: Interval,
    /// F.
    pub floor: f64,
    /// Sample deviation of a unit, for how many more it would take.
    pub deviation: f64,
    /// Units: pairs or sessions.
    pub units: usize,
    /// Degrees of freedom fewer than units.
    pub lost: usize,
    /// The largest size of a single null pair.
    pub largest: f64,
}

/// One axis at one cell, up to a block.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// What became of its legs.
    pub outcomes: &'a Outcomes,
    /// The cell.
    pub cell: &'a str,
    /// The last block.
    pub up_to: usize,
}

/// How an axis is measured.
pub fn measure(axis: &Axis) -> Measure<'_> {
    Measure { metric: &axis.metric, direction: axis.direction, scale: axis.scale }
}

impl Scope<'_> {
    /// What the null arm shows; `None` where its runs give no estimate.
    pub fn null(&self, axis: &Axis) -> Option<Null> {
        let comparison = self.plan.null.comparison();
        let Scope { plan, outcomes, cell, up_to } = *self;
        let paired = pair(plan, outcomes, cell, &comparison, measure(axis), up_to)?;
        let found = Estimator::of(&paired.time, axis.statistic, plan.seed).ok()?;
        let interval = found.estimate(plan.alpha).hull();
        let nulls = (plan.cells.len() * plan.axes.len()).max(1) as f64;
        let shared = found.estimate(plan.alpha / nulls).hull();
        let sizes = paired.time.iter().map(|pair| pair.log_ratio.abs());
        Some(Null {
            interval,
            shared,
            floor: floor::floor(axis.floor.log(), interval),
            deviation: found.deviation,
            units: found.units,
            lost: found.lost,
            largest: sizes.fold(0.0, f64::max),
        })
    }

    /// Whether every pair of a comparison is discarded.
    pub fn keeps_none(&self, axis: &Axis, comparison: &Comparison) -> bool {
        let Scope { plan, outcomes, cell, up_to } = *self;
        let paired = pair(plan, outcomes, cell, comparison, measure(axis), up_to);
        paired.is_some_and(|paired| paired.time.is_empty())
    }

    /// V-NULL: two arms that are the same do not differ by more than the margin, or the floor where there is none.
    pub fn null_arm(&self, axis: &Axis, null: &Null) -> Option<Violation> {
        let bound = axis.margin().max(axis.floor.log());
        let Interval { lower, upper, .. } = null.shared;
        (lower > bound || upper < -bound).then(|| {
            let ratio = |log: f64| 100.0 * log.exp_m1();
            let reason = format!(
                "{} {}: {} over {} is {:+.2} to {:+.2} %",
                self.cell,
                axis.metric,
                self.plan.null.twin,
                self.plan.null.of,
                ratio(lower),
                ratio(upper)
            );
            Violation::new(Rule::NullArm, reason)
        })
    }

    /// V-CONTROL and V-NOCONTROL of one comparison.
    pub fn control(&self, control: &Control, comparison: &Comparison) -> Option<Violation> {
        match control.expect {
            Expect::Still => self.moved(control, comparison),
            Expect::Moves => self.unmoved(control, comparison),
        }
    }

    fn moved(&self, control: &Control, comparison: &Comparison) -> Option<Violation> {
        let Scope { plan, outcomes, cell, up_to } = *self;
        let broken = |reason: String| Some(Violation::new(Rule::Control, reason));
        let metric = &control.metric;
        let measure = Measure { metric, direction: Direction::Higher, scale: Scale::Clockless };
        let Some(paired) = pair(plan, outcomes, cell, comparison, measure, up_to) else {
            return broken(format!("{cell}: control {metric} was not measured"));
        };
        // Too few pairs move nothing and show nothing; the axes will say that they are too few.
        let found = Estimator::of(&paired.time, Statistic::Location, plan.seed).ok()?;
        let (interval, bound) = (found.estimate(plan.alpha).hull(), control.bound.log());
        if interval.lower > bound || interval.upper < -bound {
            return broken(format!("{cell}: {metric} cannot be moved by the change and moved"));
        }
        None
    }

    /// Moved means: no value of one arm within those of the other, and the medians apart. Counts may be 0.
    fn unmoved(&self, control: &Control, comparison: &Comparison) -> Option<Violation> {
        let values = |arm: &str| -> Option<Vec<f64>> {
            let values = self.runs(arm).into_iter().map(|(_, outcome)| match &outcome.ended {
                Ended::Measured(metrics) => {
                    metrics.get(&control.metric).copied().filter(|value| value.is_finite())
                }
                Ended::Failed(_) | Ended::Skipped(_) => None,
            });
            values.collect::<Option<Vec<_>>>().filter(|values| !values.is_empty())
        };
        let has_moved = || {
            let (a, b) = (values(&comparison.reference)?, values(&comparison.subject)?);
            let most = |of: &[f64]| of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let least = |of: &[f64]| of.iter().copied().fold(f64::INFINITY, f64::min);
            let is_apart = most(&a) < least(&b) || most(&b) < least(&a);
            let (a, b) = (median(&a)?, median(&b)?);
            let bound = control.bound.percent.0 / 100.0 * a.abs().max(b.abs());
            (is_apart && (a - b).abs() > bound).then_some(())
        };
        if has_moved().is_some() {
            return None;
        }
        let (cell, metric) = (self.cell, &control.metric);
        Some(Violation::new(
            Rule::NoControl,
            format!("{cell}: {metric} must move between the arms and did not"),
        ))
    }

    /// V-TERMINAL: in each session the first arm, repeated at the end, is within the prediction interval of its own runs, or
    /// within the floor.
    pub fn terminal(&self, axis: &Axis, floor: f64) -> Vec<Violation> {
        let ends = self.plan.legs_of(self.cell).filter(|leg| leg.role == Role::Terminal);
        let off = |leg: &Leg| {
            let off = self.off_at_end(axis, leg, floor)?;
            let percent = 100.0 * off.exp_m1();
            let reason = format!("{}: {} {percent:+.2} % off its own runs", leg.id, axis.metric);
            Some(Violation::new(Rule::Terminal, reason))
        };
        ends.filter_map(off).collect()
    }

    /// By how much a terminal leg is off, as a log ratio, where that is more than chance and the floor.
    fn off_at_end(&self, axis: &Axis, leg: &Leg, floor: f64) -> Option<f64> {
        let plan = self.plan;
        let log = |outcome: &Outcome| outcome.metric(&axis.metric).map(f64::ln);
        let last = log(self.outcomes.get(&leg.id)?)?;
        let own = self.runs(&leg.arm).into_iter().filter(|(own, _)| own.session == leg.session);
        let before = own.map(|(_, outcome)| log(outcome)).collect::<Option<Vec<f64>>>()?;
        let n = before.len() as f64;
        let checks = plan.cells.len() * plan.axes.len() * plan.sessions as usize;
        let quantile = t_quantile(1.0 - TERMINAL / checks as f64 / 2.0, n - 1.0);
        let bound = quantile * deviation(&before)? * (1.0 + 1.0 / n).sqrt();
        let off = last - mean(&before)?;
        (off.abs() > bound.max(floor)).then_some(off)
    }

    /// How many sessions' terminal legs have no outcome yet.
    pub fn ends_to_come(&self) -> usize {
        let ends = self.plan.legs_of(self.cell).filter(|leg| leg.role == Role::Terminal);
        ends.filter(|leg| !self.outcomes.contains_key(&leg.id)).count()
    }

    /// The drift of an arm's runs over a session, where it is believed and larger than the floor.
    pub fn drifted(&self, axis: &Axis, arm: &str, floor: f64) -> Option<Drift> {
        let mut found =
            self.series(axis, arm).into_iter().filter_map(|series| drift::drift(&series));
        found.find(|drift| drift.p < MOVED && drift.over_series.abs() > floor)
    }

    /// The jump of an arm's runs within a session, where it is believed and larger than the floor.
    pub fn stepped(&self, axis: &Axis, arm: &str, floor: f64) -> Option<Step> {
        let values = self.series(axis, arm).into_iter();
        let values =
            values.map(|series| series.into_iter().map(|(_, value)| value).collect::<Vec<_>>());
        let mut found = values.filter_map(|values| step::step(&values, floor, self.plan.seed));
        found.find(|step| step.p < MOVED)
    }

    /// ln(metric) of an arm's measured runs over time, a series a session.
    fn series(&self, axis: &Axis, arm: &str) -> Vec<Vec<(f64, f64)>> {
        let of = |session: u32| {
            let own = self.runs(arm).into_iter().filter(|(leg, _)| leg.session == session);
            let points =
                own.filter_map(|(_, run)| Some((run.at_s, run.metric(&axis.metric)?.ln())));
            points.collect()
        };
        (1..=self.plan.sessions).map(of).collect()
    }

    /// The measured runs of an arm at the cell.
    fn runs(&self, arm: &str) -> Vec<(&Leg, &Outcome)> {
        let legs = self.plan.legs_of(self.cell);
        let own = legs.filter(|leg| leg.role == Role::Measured && leg.arm == arm);
        let own = own.filter(|leg| leg.block.is_some_and(|block| block <= self.up_to));
        own.filter_map(|leg| Some((leg, self.outcomes.get(&leg.id)?))).collect()
    }
}
