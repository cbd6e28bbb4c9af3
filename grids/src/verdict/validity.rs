//! The rules that a comparison can break, asked of the outcomes alone. All are asked; all that are broken are reported.

use std::collections::{BTreeMap, BTreeSet};

use crate::rule::{Rule, Violation};
use crate::series::{Comparison, Ended, Leg, Outcome, Outcomes, Plan, Role};

/// What keeps a comparison from being one.
#[derive(Debug, Clone, PartialEq)]
pub enum Obstacle {
    /// An arm is missing altogether, with why.
    Skipped(Vec<String>),
    /// Rules that were broken.
    Void(Vec<Violation>),
}

/// What stands against comparing two arms at a cell by `metric`, in every outcome that there is. `plan_sha256` is the plan's.
pub fn obstacle(
    plan: &Plan,
    plan_sha256: &str,
    outcomes: &Outcomes,
    cell: &str,
    comparison: &Comparison,
    metric: &str,
) -> Option<Obstacle> {
    let arms = [&comparison.reference, &comparison.subject, &plan.null.of, &plan.null.twin];
    let runs: Vec<(&Leg, &Outcome)> = plan
        .legs_of(cell)
        .filter(|leg| leg.role != Role::Discarded && arms.contains(&&leg.arm))
        .filter_map(|leg| Some((leg, outcomes.get(&leg.id)?)))
        .collect();
    let missing: Vec<String> = [&comparison.reference, &comparison.subject]
        .into_iter()
        .filter_map(|arm| skipped(&runs, arm))
        .collect();
    if !missing.is_empty() {
        return Some(Obstacle::Skipped(missing));
    }
    let mut broken = Vec::new();
    for (leg, outcome) in &runs {
        let at = |reason: &str| format!("{}: {reason}", leg.id);
        let own = outcome.violations.iter();
        broken.extend(own.map(|found| Violation::new(found.rule, at(&found.reason))));
        if outcome.plan_sha256 != plan_sha256 {
            broken.push(Violation::new(Rule::Plan, at("its outcome belongs to another plan")));
        }
        match &outcome.ended {
            Ended::Failed(why) => broken.push(Violation::new(Rule::Failed, at(why))),
            Ended::Skipped(why) => broken.push(Violation::new(Rule::Skip, at(why))),
            Ended::Measured(_) => {
                if outcome.metric(metric).is_none() {
                    let reason = at(&format!("{metric} is no positive number"));
                    broken.push(Violation::new(Rule::Metric, reason));
                }
            }
        }
    }
    broken.extend(workload(&runs));
    broken.extend(machines(&runs));
    broken.extend(clocks(&runs));
    (!broken.is_empty()).then_some(Obstacle::Void(broken))
}

/// Why an arm is missing, where every run of it was skipped.
fn skipped(runs: &[(&Leg, &Outcome)], arm: &str) -> Option<String> {
    let mut why = None;
    for (_, outcome) in runs.iter().filter(|(leg, _)| leg.arm == arm) {
        match &outcome.ended {
            Ended::Skipped(reason) => why = Some(format!("{arm}: {reason}")),
            Ended::Measured(_) | Ended::Failed(_) => return None,
        }
    }
    why
}

/// V-WORKLOAD: all arms of a block were asked the same, and no two blocks were: a server that remembers a prompt would answer it
/// from memory.
fn workload(runs: &[(&Leg, &Outcome)]) -> Vec<Violation> {
    let mut asked: BTreeMap<Place, BTreeSet<&str>> = BTreeMap::new();
    for (leg, outcome) in runs.iter().filter(|(_, run)| matches!(run.ended, Ended::Measured(_))) {
        let place = (leg.session, leg.role == Role::Terminal, leg.block);
        asked.entry(place).or_default().insert(&outcome.workload_sha256);
    }
    let mut broken = Vec::new();
    let mut seen = BTreeSet::new();
    for ((session, is_end, block), names) in &asked {
        let at = match block {
            Some(block) if !is_end => format!("block {block}"),
            _ => format!("the end of session {session}"),
        };
        if names.len() > 1 || names.contains("") {
            let reason = format!("the runs of {at} had {} workloads, named {names:?}", names.len());
            broken.push(Violation::new(Rule::Workload, reason));
        }
        if let Some(again) = names.iter().find(|name| !seen.insert(**name)) {
            let reason = format!("{at} was asked what had been asked before, workload {again:?}");
            broken.push(Violation::new(Rule::Workload, reason));
        }
    }
    broken
}

/// The runs that were begun.
fn begun<'r, 'a>(
    runs: &'r [(&'a Leg, &'a Outcome)],
) -> impl Iterator<Item = (&'a Leg, &'a Outcome)> + 'r {
    runs.iter().copied().filter(|(_, run)| run.was_begun())
}

/// V-BOOT: all runs of a comparison at a cell, its null arm's included, were on one machine and in one boot of it, and say so.
fn machines(runs: &[(&Leg, &Outcome)]) -> Option<Violation> {
    let mut begun = begun(runs);
    let (first, outcome) = begun.next()?;
    let own = outcome.machine.as_str();
    let reason = if own.is_empty() {
        format!("nothing says on which machine {} ran", first.id)
    } else {
        let (other, _) = begun.find(|(_, outcome)| outcome.machine != own)?;
        format!("{} ran on another machine than {}, or in another boot of it", other.id, first.id)
    };
    Some(Violation::new(Rule::Boot, reason))
}

/// V-CLOCK-MISS: the clock was seen in all runs or in none; pairs of which it was seen in one run alone could not be held apart.
fn clocks(runs: &[(&Leg, &Outcome)]) -> Option<Violation> {
    let measured = || begun(runs).filter(|(_, run)| matches!(run.ended, Ended::Measured(_)));
    measured().find(|(_, run)| run.clock.is_some())?;
    let (blind, _) = measured().find(|(_, run)| run.clock.is_none())?;
    let reason = format!("no clock was seen in {}, and in other runs it was", blind.id);
    Some(Violation::new(Rule::ClockMiss, reason))
}

/// Session, whether it is the session's end, block.
type Place = (u32, bool, Option<usize>);
