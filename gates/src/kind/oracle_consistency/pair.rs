//! Two arms of an oracle, position by position.

use super::{Answer, Arm};
use crate::compare;
use crate::kind::ranks::shared_differences;
use crate::samples::top_of;
use crate::spec::Condition;

/// Two arms, compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Under which conditions they answered; `None` is alone, one at a time.
    pub of: (Option<Condition>, Option<Condition>),
    /// Cases compared.
    pub cases: usize,
    /// Positions at which both have the same prefix.
    pub choices: usize,
    /// Those at which they choose otherwise.
    pub flips: Vec<Flip>,
    /// The largest difference of a log-probability there, in milli-nats; `None` where no ranking was reported.
    pub largest_mnats: Option<f64>,
    /// Whether both rankings list the same tokens everywhere.
    pub same_tokens: bool,
}

/// Another choice behind the same prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flip {
    /// The case.
    pub case: String,
    /// Index of the token.
    pub position: usize,
    /// The choice of each arm; `None` where the answer has ended.
    pub choices: (Option<u32>, Option<u32>),
}

impl Pair {
    /// Its name: `warm`, or `together/warm` where neither is the first arm.
    pub fn name(&self) -> String {
        let name = |condition: Option<Condition>| condition.map_or("alone", Condition::name);
        match self.of {
            (None, second) => name(second).to_owned(),
            (first, second) => format!("{}/{}", name(first), name(second)),
        }
    }

    /// Cases in which at least one choice differs.
    pub fn flipped(&self) -> usize {
        let mut cases: Vec<&str> = self.flips.iter().map(|flip| flip.case.as_str()).collect();
        cases.dedup();
        cases.len()
    }

    /// Whether it is as it must be: no other choice, and of a repeat the same numbers.
    pub fn agrees(&self) -> bool {
        self.flips.is_empty() && (self.of.1 != Some(Condition::Repeated) || self.is_identical())
    }

    fn is_identical(&self) -> bool {
        self.same_tokens && self.largest_mnats.is_none_or(|largest| compare::within(largest, 0.0))
    }
}

/// Compares two arms over `cases`.
pub fn compare_pair(cases: &[String], first: &Arm, second: &Arm) -> Pair {
    let mut pair = Pair {
        of: (first.condition, second.condition),
        cases: cases.len(),
        choices: 0,
        flips: Vec::new(),
        largest_mnats: None,
        same_tokens: true,
    };
    for (index, case) in cases.iter().enumerate() {
        match (first.answers.get(index), second.answers.get(index)) {
            (Some(a), Some(b)) => pair.add(case, a, b),
            // An arm that left one out did not choose the same.
            _ => pair.flip(case, 0, (None, None)),
        }
    }
    pair
}

impl Pair {
    fn flip(&mut self, case: &str, position: usize, choices: (Option<u32>, Option<u32>)) {
        self.flips.push(Flip { case: case.to_owned(), position, choices });
    }

    fn add(&mut self, case: &str, a: &Answer, b: &Answer) {
        let shared = a.ids.iter().zip(&b.ids).take_while(|(a, b)| a == b).count();
        let before = self.flips.len();
        for (position, ours) in a.read.iter().take_while(|(position, _)| *position <= shared) {
            let Some((_, theirs)) = b.read.iter().find(|(other, _)| other == position) else {
                continue;
            };
            self.choices += 1;
            if ours.id != theirs.id {
                self.flip(case, *position, (Some(ours.id), Some(theirs.id)));
            }
            let (ours, theirs) = (top_of(ours), top_of(theirs));
            let differences = shared_differences(&ours, &theirs);
            self.same_tokens &= ours.len() == theirs.len() && differences.len() == ours.len();
            self.largest_mnats = compare::largest(
                self.largest_mnats.into_iter().chain(differences.into_iter().map(|(_, by)| by)),
            );
        }
        if a.ids != b.ids && self.flips.len() == before {
            // One goes on where the other has ended, or parts where it was not read.
            let at = |ids: &[u32]| ids.get(shared).copied();
            self.flip(case, shared, (at(&a.ids), at(&b.ids)));
        }
    }
}

#[cfg(test)]
mod tests {
    use oracles::verbs::Step;

    use super::*;

    fn step(id: u32, logprob: f32) -> Step {
        Step { id, logprob: Some(logprob), top: vec![(id, logprob), (90, -2.0)] }
    }

    fn free(ids: &[u32]) -> Answer {
        let read = ids.iter().map(|id| step(*id, -0.5)).enumerate().collect();
        Answer { ids: ids.to_vec(), read }
    }

    fn arm(condition: Option<Condition>, answers: Vec<Answer>) -> Arm {
        Arm { condition, flags: Vec::new(), answers, at_once: None, cached_tokens: None }
    }

    fn pair(condition: Condition, first: Answer, second: Answer) -> Pair {
        let cases = ["one".to_owned()];
        compare_pair(&cases, &arm(None, vec![first]), &arm(Some(condition), vec![second]))
    }

    #[test]
    fn equal_answers_agree_at_every_position() {
        let pair = pair(Condition::Repeated, free(&[1, 2, 3]), free(&[1, 2, 3]));
        assert_eq!((pair.choices, pair.flips.len(), pair.flipped()), (3, 0, 0));
        assert!(pair.agrees());
        assert_eq!(pair.name(), "repeated");
    }

    #[test]
    fn behind_the_first_flip_nothing_is_compared() {
        let pair = pair(Condition::Together, free(&[1, 2, 3, 4]), free(&[1, 7, 8, 9]));
        assert_eq!((pair.choices, pair.flipped()), (2, 1));
        let flip = Flip { case: "one".into(), position: 1, choices: (Some(2), Some(7)) };
        assert_eq!(pair.flips, [flip]);
        assert!(!pair.agrees());
    }

    #[test]
    fn forced_along_the_same_ids_every_position_counts() {
        // Read along the ids of the first arm at 0 and 2; at both it would have chosen otherwise.
        let forced =
            Answer { ids: vec![1, 2, 3], read: vec![(0, step(5, -0.5)), (2, step(6, -0.75))] };
        let pair = pair(Condition::Prefilled, free(&[1, 2, 3]), forced);
        assert_eq!((pair.choices, pair.flips.len(), pair.flipped()), (2, 2, 1));
    }

    #[test]
    fn a_last_bit_is_noise_elsewhere_and_a_failure_of_a_repeat() {
        let mut other = free(&[1, 2]);
        other.read[1].1.top[1].1 = -2.25;
        let together = pair(Condition::Together, free(&[1, 2]), other.clone());
        assert!(together.agrees());
        // |-2.0 + 2.25| nats
        assert!(together.largest_mnats.is_some_and(|by| compare::within((by - 250.0).abs(), 1e-9)));
        assert!(!pair(Condition::Repeated, free(&[1, 2]), other).agrees());
        let mut listed = free(&[1, 2]);
        listed.read[0].1.top.pop();
        assert!(!pair(Condition::Repeated, free(&[1, 2]), listed).agrees());
        let mut none = free(&[1, 2]);
        none.read[0].1.top[1].1 = f32::NAN;
        assert!(!pair(Condition::Repeated, free(&[1, 2]), none).agrees());
    }

    #[test]
    fn an_answer_that_ends_early_or_is_missing_differs() {
        let short = pair(Condition::Warm, free(&[1, 2, 3]), free(&[1, 2]));
        assert_eq!(short.flips[0].choices, (Some(3), None));
        let cases = ["one".to_owned(), "two".to_owned()];
        let missing = compare_pair(
            &cases,
            &arm(None, vec![free(&[1]), free(&[2])]),
            &arm(Some(Condition::Warm), vec![free(&[1])]),
        );
        assert_eq!(missing.flips[0].case, "two");
        assert!(!missing.agrees());
    }
}
