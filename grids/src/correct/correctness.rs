//! What the arms of a series have to show before their speed counts.

use records::Record;
use records::gap::Present;
use serde::{Deserialize, Serialize};

use super::certificate::{Certificate, certify};
use crate::rule::{Rule, Violation};
use crate::series::{KnownArms, Outcome, Outcomes, Plan};
use crate::verdict::Standing;

/// What our arms have to show, or what stands against them, by arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correctness {
    /// Arms whose gates pass.
    pub certificates: Vec<Certificate>,
    /// What voids the comparisons of the others.
    pub standing: Standing,
}

/// By the plan's gates and what is on record. An arm of which no leg ran needs to show nothing; one that ran and of which nothing
/// says what it is has nothing to show, be it ours or not.
pub fn correctness(
    plan: &Plan,
    arms: &KnownArms,
    outcomes: &Outcomes,
    records: &[Record],
    present: &Present,
) -> Correctness {
    let mut found = Correctness::default();
    for arm in plan.arms().into_iter().filter(|arm| *arm != plan.null.twin) {
        let gates = plan.correct.gates.iter().find(|(name, _)| name.0 == arm);
        let certified = match (arms.get(arm), gates) {
            (None, _) if !ran(plan, outcomes, arm) => continue,
            (None, _) => {
                let reason = format!("{arm} was measured, and nothing says what it is");
                Err(Violation::new(Rule::Correct, reason))
            }
            (Some(known), Some((_, gates))) => certify(arm, known, gates, records, present),
            // Another engine is not held against itself.
            (Some(_), None) => continue,
        };
        match certified {
            Ok(certificate) => found.certificates.push(certificate),
            Err(broken) => drop(found.standing.insert(arm.to_owned(), vec![broken])),
        }
    }
    found
}

/// Whether a leg of an arm, or of its twin, was begun.
fn ran(plan: &Plan, outcomes: &Outcomes, arm: &str) -> bool {
    let is_its = |leg: &str| leg == arm || (plan.null.of == arm && leg == plan.null.twin);
    plan.legs
        .iter()
        .filter(|leg| is_its(&leg.arm))
        .any(|leg| outcomes.get(&leg.id).is_some_and(Outcome::was_begun))
}

#[cfg(test)]
mod tests {
    use super::super::certificate::tests::{known, present, record};
    use super::*;
    use crate::series::Ended;
    use crate::verdict::fixture::{AB, Model, ab, simulate};

    #[test]
    fn an_arm_that_was_measured_and_is_not_known_is_not_shown_to_be_right() {
        let plan = ab(&AB);
        let mut outcomes = simulate(&plan, &Model::default(), 1);
        let of = |arms: &KnownArms, outcomes: &Outcomes| {
            correctness(&plan, arms, outcomes, &[record("r1", "PASS")], &present())
        };
        let both = KnownArms::from(["a", "b"].map(|arm| (arm.to_owned(), known())));
        let found = of(&both, &outcomes);
        assert_eq!((found.certificates.len(), found.standing.len()), (2, 0));
        let one = KnownArms::from([("a".to_owned(), known())]);
        let found = of(&one, &outcomes);
        assert_eq!(found.standing["b"][0].rule, Rule::Correct);
        assert_eq!(found.certificates.len(), 1);
        for leg in plan.legs.iter().filter(|leg| leg.arm == "b") {
            let own = outcomes.get_mut(&leg.id).unwrap();
            own.ended = Ended::Skipped("not here".to_owned());
        }
        assert!(of(&one, &outcomes).standing.is_empty(), "it was not measured");
    }
}
