//! Blocks that are run only where pairs were discarded. A pair whose clocks were apart is no comparison, and a plan that says how many
//! pairs there are has them made up; which ones they are follows from clocks alone.

use super::outcome::Outcomes;
use super::plan::{Comparison, Leg, Plan, Role};

/// Whether a leg of a spare block has to run: some comparison, or the null arm, has fewer pairs in the blocks before than are planned.
pub fn is_called_for(plan: &Plan, outcomes: &Outcomes, leg: &Leg) -> bool {
    let null = plan.null.comparison();
    let mut all = plan.comparisons.iter().chain([&null]);
    all.any(|comparison| lacks_pairs(plan, outcomes, leg, comparison))
}

/// Whether a leg of a spare block has to run for one comparison: all blocks before are run, and too few pairs of them are kept. A
/// comparison that is void or skipped, as every rule that a leg of it breaks makes it, lacks nothing that another block could give.
pub fn lacks_pairs(plan: &Plan, outcomes: &Outcomes, leg: &Leg, comparison: &Comparison) -> bool {
    let Some(block) = leg.block.filter(|_| plan.is_spare(leg)) else { return false };
    let mut kept = 0;
    for earlier in 1..block {
        let of = |arm: &str| {
            let is_it = |other: &&Leg| {
                other.role == Role::Measured && other.block == Some(earlier) && other.arm == arm
            };
            let leg = plan.legs_of(&leg.cell).find(is_it)?;
            outcomes.get(&leg.id).filter(|outcome| outcome.is_clean())
        };
        let (Some(reference), Some(subject)) = (of(&comparison.reference), of(&comparison.subject))
        else {
            return false;
        };
        let clocks = reference.clock.zip(subject.clock);
        kept += usize::from(clocks.is_none_or(|(reference, subject)| subject.is_near(reference)));
    }
    kept < plan.pairs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Clock;
    use crate::verdict::fixture::{AB, Ab, Model, ab, simulate};

    fn at<'a>(plan: &'a Plan, block: usize, arm: &str) -> &'a Leg {
        let found = plan.legs.iter().find(|leg| leg.block == Some(block) && leg.arm == arm);
        found.unwrap()
    }

    /// Ten pairs, two spare blocks.
    #[test]
    fn a_spare_block_stands_in_for_a_discarded_pair() {
        let plan = ab(&Ab { spares: 2, ..AB });
        let mut outcomes = simulate(&plan, &Model::default(), 1);
        let calls = |outcomes: &Outcomes, block| {
            let legs = plan.legs.iter().filter(|leg| leg.block == Some(block));
            let called: Vec<bool> = legs.map(|leg| is_called_for(&plan, outcomes, leg)).collect();
            assert_eq!(called.len(), 3);
            assert!(called.iter().all(|one| *one == called[0]), "a block is run whole");
            called[0]
        };
        assert!(!calls(&outcomes, 10) && !calls(&outcomes, 11) && !calls(&outcomes, 12));
        let off = Some(Clock { mean: 2022.0, median: 2022.0 });
        outcomes.get_mut(&at(&plan, 3, "b").id).unwrap().clock = off;
        assert!(calls(&outcomes, 11) && !calls(&outcomes, 12), "ten of eleven are kept");
        outcomes.get_mut(&at(&plan, 11, "b").id).unwrap().clock = off;
        assert!(calls(&outcomes, 12));
        // The null arm's pairs count as well, and a block that is not run yet calls for nothing.
        let mut other = simulate(&plan, &Model::default(), 1);
        other.get_mut(&at(&plan, 3, "a-null").id).unwrap().clock = off;
        assert!(calls(&other, 11));
        other.remove(&at(&plan, 4, "a").id);
        assert!(!calls(&other, 11));
    }
}
