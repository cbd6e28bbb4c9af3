//! The rank table of a forced run: the subject's probabilities against the oracle's, position by position.

use crate::compare;
use crate::samples::top_of;
use crate::subject::{Generated, TopEntry};

use super::near_tie::Reading;

/// Ranks of our first choice under the oracle, and how far the log-probabilities lie apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RankTable {
    /// Positions at which our first choice is the oracle's.
    pub first: usize,
    /// Positions at which it is the oracle's second.
    pub second: usize,
    /// Positions at which it stands third or lower, inside the oracle's window.
    pub lower: usize,
    /// Positions at which it is outside the window.
    pub outside: usize,
    /// Positions for which the oracle reports no ranking.
    pub unreported: usize,
    /// Largest difference of the log-probability of the oracle's own token, in milli-nats.
    pub chosen_difference_mnats: Option<f64>,
    /// Largest difference over all tokens that both windows name, in milli-nats.
    pub window_difference_mnats: Option<f64>,
}

impl RankTable {
    /// Positions with a ranking.
    pub fn positions(&self) -> usize {
        self.first + self.second + self.lower + self.outside
    }

    /// Adds one forced run.
    pub fn add(&mut self, reference: &[oracles::verbs::Step], forced: &Generated) {
        for (theirs, ours) in reference.iter().zip(&forced.steps) {
            let top = top_of(theirs);
            if top.is_empty() {
                self.unreported += 1;
                continue;
            }
            match ours.first().and_then(|entry| Reading::of(&top, entry.0).rank) {
                Some(1) => self.first += 1,
                Some(2) => self.second += 1,
                Some(_) => self.lower += 1,
                None => self.outside += 1,
            }
            let differences = shared_differences(&top, ours);
            let chosen = differences.iter().find(|(id, _)| *id == theirs.id).map(|entry| entry.1);
            let all = differences.iter().map(|entry| entry.1);
            self.chosen_difference_mnats =
                compare::largest(self.chosen_difference_mnats.into_iter().chain(chosen));
            self.window_difference_mnats =
                compare::largest(self.window_difference_mnats.into_iter().chain(all));
        }
    }
}

/// For each token that both lists name, the difference of its log-probabilities in milli-nats.
pub fn shared_differences(a: &[TopEntry], b: &[TopEntry]) -> Vec<(u32, f64)> {
    let in_b = |id: u32| b.iter().find(|entry| entry.0 == id).map(|entry| entry.1);
    a.iter()
        .filter_map(|(id, logprob)| Some((*id, compare::difference_mnats(*logprob, in_b(*id)?))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oracles::verbs::Step;

    #[test]
    fn ranks_and_differences_are_counted() {
        let reference = [
            Step { id: 7, logprob: Some(-0.5), top: vec![(7, -0.5), (9, -1.0)] },
            Step { id: 7, logprob: Some(-0.5), top: vec![(7, -0.5), (9, -1.0)] },
            Step { id: 7, logprob: Some(-0.5), top: vec![(7, -0.5), (9, -1.0)] },
        ];
        let forced = Generated {
            prompt_ids: vec![1],
            ids: vec![7, 7, 7],
            text: String::new(),
            steps: vec![
                vec![(7, -0.5), (9, -1.25)],
                vec![(9, -0.75), (7, -0.875)],
                vec![(4, -0.25), (5, -2.0)],
            ],
        };
        let mut table = RankTable::default();
        table.add(&reference, &forced);
        assert_eq!((table.first, table.second, table.lower, table.outside), (1, 1, 0, 1));
        assert_eq!(table.positions(), 3);
        // token 7: |−0.5 + 0.875| = 0.375; token 9: |−1.0 + 1.25| = 0.25 (dyadic, so exact)
        assert_eq!(table.chosen_difference_mnats.map(|d| d.to_string()), Some("375".into()));
        assert_eq!(table.window_difference_mnats.map(|d| d.to_string()), Some("375".into()));
    }

    #[test]
    fn nothing_shared_is_not_measured() {
        assert_eq!(RankTable::default().chosen_difference_mnats, None);
        assert!(shared_differences(&[(1, 0.0)], &[(2, 0.0)]).is_empty());
    }
}
