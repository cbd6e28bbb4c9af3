//! The rules that a comparison can break, asked of the outcomes alone. All are asked; all that are broken are reported.

use std::collections::BTreeSet;

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

/// V-WORKLOAD: every run of the cell was asked the same.
fn workload(runs: &[(&Leg, &Outcome)]) -> Option<Violation> {
    let ran = runs.iter().filter(|(_, outcome)| matches!(outcome.ended, Ended::Measured(_)));
    let asked: BTreeSet<&str> = ran.map(|(_, outcome)| outcome.workload_sha256.as_str()).collect();
    if asked.len() > 1 || asked.contains("") {
        let reason = format!("the runs of the cell had {} workloads, named {asked:?}", asked.len());
        return Some(Violation::new(Rule::Workload, reason));
    }
    None
}
