//! From the outcomes of a plan to pairs: which runs are compared with which, in time and in cycles.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::series::{Clock, Comparison, Leg, Outcome, Outcomes, Plan, Role};
use crate::spec::{Direction, Scale};
use crate::statistics::pair::{Order, Pair};

/// What is compared: a metric, which way is better, and how it follows the clock.
#[derive(Debug, Clone, Copy)]
pub struct Measure<'a> {
    /// The metric.
    pub metric: &'a str,
    /// Which way is better: ratios are turned so that above 1 is better.
    pub direction: Direction,
    /// How it follows the clock.
    pub scale: Scale,
}

/// A pair that was run and is not compared: each of its runs stands, their ratio does not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discard {
    /// The block.
    pub block: usize,
    /// Subject's mean clock over the reference's, less 1.
    pub clock_mean_off: f64,
    /// The same of medians.
    pub clock_median_off: f64,
}

/// The pairs of one comparison at one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Paired {
    /// In time, as users have it.
    pub time: Vec<Pair>,
    /// In cycles; none where a clock was not seen, or has no part in the metric.
    pub cycles: Option<Vec<Pair>>,
    /// The values of both arms, in the unit of the metric: (reference, subject).
    pub values: Vec<(f64, f64)>,
    /// DISCARD: the clocks were apart.
    pub discarded: Vec<Discard>,
}

/// A leg with its outcome.
pub type Run<'a> = (&'a Leg, &'a Outcome);

/// The measured runs of a cell up to a block, by block; at the end of the plan, its spare blocks too.
fn blocks<'a>(
    plan: &'a Plan,
    outcomes: &'a Outcomes,
    cell: &'a str,
    up_to: usize,
) -> BTreeMap<usize, Vec<Run<'a>>> {
    let mut blocks: BTreeMap<usize, Vec<Run<'a>>> = BTreeMap::new();
    let is_end = up_to == plan.pairs();
    for leg in plan.legs_of(cell).filter(|leg| leg.role == Role::Measured) {
        if let (Some(block), Some(outcome)) = (leg.block, outcomes.get(&leg.id))
            && (block <= up_to || is_end)
        {
            blocks.entry(block).or_default().push((leg, outcome));
        }
    }
    blocks
}

/// Pairs subject and reference in every block up to `up_to`; spare blocks make up for discarded pairs, until there are as many. `None` where a run has no such metric: the caller has asked the rules
/// before.
pub fn pair(
    plan: &Plan,
    outcomes: &Outcomes,
    cell: &str,
    comparison: &Comparison,
    measure: Measure<'_>,
    up_to: usize,
) -> Option<Paired> {
    let mut paired = Paired {
        time: Vec::new(),
        cycles: Some(Vec::new()),
        values: Vec::new(),
        discarded: Vec::new(),
    };
    for (block, runs) in blocks(plan, outcomes, cell, up_to) {
        if paired.time.len() == up_to {
            break;
        }
        let of = |arm: &str| runs.iter().find(|(leg, _)| leg.arm == arm).copied();
        let (reference, subject) = (of(&comparison.reference)?, of(&comparison.subject)?);
        if let Some(discard) = clocks_apart(block, reference.1.clock, subject.1.clock) {
            paired.discarded.push(discard);
            continue;
        }
        let value = |run: Run<'_>| run.1.metric(measure.metric);
        paired.values.push((value(reference)?, value(subject)?));
        paired.time.push(of_runs(reference, subject, measure, |_| Some(1.0))?);
        let cycles = of_runs(reference, subject, measure, |outcome| {
            outcome.clock.map(|clock| clock.mean).filter(|_| measure.scale != Scale::Clockless)
        });
        match (&mut paired.cycles, cycles) {
            (Some(all), Some(pair)) => all.push(pair),
            (cycles, _) => *cycles = None,
        }
    }
    Some(paired)
}

/// The pair of two runs, with their metric taken to the clock that `clock` gives.
fn of_runs(
    reference: Run<'_>,
    subject: Run<'_>,
    measure: Measure<'_>,
    clock: impl Fn(&Outcome) -> Option<f64>,
) -> Option<Pair> {
    let order =
        if reference.0.slot < subject.0.slot { Order::ReferenceFirst } else { Order::SubjectFirst };
    let value = |outcome: &Outcome| {
        let (value, clock) = (outcome.metric(measure.metric)?, clock(outcome)?);
        Some(if measure.scale == Scale::Rate { value / clock } else { value * clock })
    };
    let (reference, subject, session) =
        (value(reference.1)?, value(subject.1)?, reference.0.session);
    let pair = Pair::of(reference, subject, order, session)?;
    Some(match measure.direction {
        Direction::Higher => pair,
        Direction::Lower => Pair { log_ratio: -pair.log_ratio, ..pair },
    })
}

/// V-CLOCK-OFF of one pair, by mean and by median: the pair is discarded. Where every pair that is left is near, so are the medians
/// and the means of both arms over all of them: nothing further is to be asked of the comparison.
fn clocks_apart(block: usize, reference: Option<Clock>, subject: Option<Clock>) -> Option<Discard> {
    let (reference, subject) = (reference?, subject?);
    let (clock_mean_off, clock_median_off) = subject.off(reference);
    (!subject.is_near(reference)).then_some(Discard { block, clock_mean_off, clock_median_off })
}
