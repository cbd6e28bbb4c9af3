//! What answers of the scheduler, and answers that do not come, say of a job array that is waited for.

use std::collections::BTreeMap;

use super::queue::{Element, States};

/// So many answers in a row that do not name an element say that it has ended: Slurm forgets those that ended some minutes ago, and
/// leaves out one for a moment while it changes its state or its controller starts anew.
const ABSENT: u32 = 15;
/// So many questions in a row without an answer are given up on: a controller that starts anew takes a minute or two.
const UNANSWERED: u32 = 150;

/// What is known of an array.
#[derive(Debug)]
pub struct Watch {
    allocations: u32,
    last: States,
    absent: BTreeMap<u32, u32>,
    unanswered: u32,
}

impl Watch {
    /// Of an array of so many elements, of which nothing is known yet.
    pub fn new(allocations: u32) -> Self {
        Self { allocations, last: States::new(), absent: BTreeMap::new(), unanswered: 0 }
    }

    /// Takes an answer, and gives the elements whose state is another than before.
    pub fn answered(&mut self, states: States) -> States {
        self.unanswered = 0;
        for index in 0..self.allocations {
            if states.contains_key(&index) {
                self.absent.remove(&index);
            } else {
                *self.absent.entry(index).or_default() += 1;
            }
        }
        let changed: States =
            states.into_iter().filter(|(index, now)| self.last.get(index) != Some(now)).collect();
        self.last.extend(changed.clone());
        changed
    }

    /// Takes that no answer came; whether it is to be given up.
    pub fn unanswered(&mut self) -> bool {
        self.unanswered += 1;
        self.unanswered >= UNANSWERED
    }

    /// Whether it is the first question in a row without an answer.
    pub fn is_newly_unanswered(&self) -> bool {
        self.unanswered == 1
    }

    /// Every element ended, by its state or because it has been forgotten.
    pub fn has_ended(&self) -> bool {
        (0..self.allocations).all(|index| {
            self.last.get(&index).is_some_and(Element::has_ended)
                || self.absent.get(&index).is_some_and(|answers| *answers >= ABSENT)
        })
    }

    /// The elements that did not come to their end, as far as was seen.
    pub fn incomplete(&self) -> impl Iterator<Item = (u32, &Element)> {
        let states = self.last.iter().map(|(index, element)| (*index, element));
        states.filter(|(_, element)| !element.is_complete())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slurm::queue::parse;

    fn states(text: &str) -> States {
        parse(text).unwrap()
    }

    #[test]
    fn an_empty_answer_is_no_end() {
        let mut watch = Watch::new(2);
        watch.answered(States::new());
        assert!(!watch.has_ended(), "nothing was seen yet");
        assert_eq!(watch.answered(states("0|RUNNING|None\n1|PENDING|Resources")).len(), 2);
        for _ in 1..ABSENT {
            watch.answered(States::new());
            assert!(!watch.has_ended());
        }
        assert!(watch.answered(states("0|RUNNING|None\n1|RUNNING|None")).contains_key(&1));
        for answer in 1..=ABSENT {
            watch.answered(States::new());
            assert_eq!(watch.has_ended(), answer == ABSENT, "counted anew");
        }
    }

    /// One of two has ended and the other is not named: it may still run.
    #[test]
    fn every_element_has_to_end() {
        let mut watch = Watch::new(2);
        watch.answered(states("0|COMPLETED|None"));
        assert!(!watch.has_ended());
        watch.answered(states("1|NODE_FAIL|None"));
        assert!(watch.has_ended());
        assert_eq!(watch.incomplete().map(|(index, _)| index).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn one_missing_answer_is_not_given_up_on() {
        let mut watch = Watch::new(1);
        for _ in 1..UNANSWERED {
            assert!(!watch.unanswered());
        }
        watch.answered(states("0|RUNNING|None"));
        assert!(!watch.unanswered() && watch.is_newly_unanswered());
        assert!((2..UNANSWERED).all(|_| !watch.unanswered()) && watch.unanswered());
        assert!(!watch.has_ended());
    }
}
