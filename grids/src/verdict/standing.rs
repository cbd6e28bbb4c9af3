//! What stands against an arm beyond its legs, such as that nothing shows that its answers are right: it voids every comparison that
//! the arm has a part in. What stands against the client voids every comparison of a cell.

use std::collections::BTreeMap;

use super::{Report, Verdict, voided, with_more};
use crate::rule::Violation;
use crate::series::{Clients, Outcomes, Plan, client};

/// By arm.
pub type Standing = BTreeMap<String, Vec<Violation>>;

impl Report {
    /// The report with every comparison void that an arm with something against it has a part in. Where nothing was compared,
    /// nothing is void.
    #[must_use]
    pub fn under(mut self, plan: &Plan, standing: &Standing) -> Self {
        for verdict in &mut self.verdicts {
            let arms = [&verdict.comparison.reference, &verdict.comparison.subject, &plan.null.of];
            let against: Vec<Violation> = standing
                .iter()
                .filter(|(arm, _)| arms.contains(arm))
                .flat_map(|(_, broken)| broken.iter().cloned())
                .collect();
            verdict.add(&against);
        }
        self
    }

    /// The report with every comparison void at a cell where the client was too far from the truth, or was not held against it.
    #[must_use]
    pub fn measured_by(mut self, plan: &Plan, outcomes: &Outcomes, clients: &Clients) -> Self {
        for verdict in &mut self.verdicts {
            let against = client::against(plan, outcomes, clients, &verdict.cell);
            verdict.add(&against);
        }
        self
    }
}

impl Verdict {
    fn add(&mut self, broken: &[Violation]) {
        if broken.is_empty() {
            return;
        }
        if let Some(all) = with_more(&mut self.judged, broken) {
            (self.judged, self.next) = voided(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Rule;
    use crate::verdict::fixture::{AB, Model, ab, simulate};
    use crate::verdict::{Word, judge};

    #[test]
    fn a_fast_arm_that_is_not_shown_to_be_right_has_no_number() {
        let plan = ab(&AB);
        let outcomes = simulate(&plan, &Model { effect: 0.2, noise: 0.001, ..Model::default() }, 1);
        let report = || judge(&plan, &outcomes);
        assert_eq!(report().word(), Word::Improved);
        assert_eq!(report().under(&plan, &Standing::new()), report());
        let wrong = vec![Violation::new(Rule::Correct, "tokens is FAIL")];
        for arm in ["a", "b"] {
            let found = report().under(&plan, &Standing::from([(arm.to_owned(), wrong.clone())]));
            assert!(found.verdicts.iter().all(|verdict| verdict.word() == Word::Void), "{arm}");
            assert_eq!(found.verdicts[0].rules(), [Rule::Correct]);
        }
        let other = Standing::from([("c".to_owned(), wrong)]);
        assert_eq!(report().under(&plan, &other), report(), "it has no part in it");
    }
}
