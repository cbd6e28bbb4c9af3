//! The token ids that may be drawn: those of the model less the special ones, which a server may act upon.

use std::collections::BTreeSet;

use rand::{Rng, RngExt};

use crate::workload::WorkloadError;

/// Ids to draw from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary(Vec<u32>);

impl Vocabulary {
    /// `0..size` without `special`.
    pub fn new(size: u32, special: &BTreeSet<u32>) -> Result<Self, WorkloadError> {
        let ids: Vec<u32> = (0..size).filter(|id| !special.contains(id)).collect();
        if ids.is_empty() {
            return Err(WorkloadError::Vocabulary { size, excluded: special.len() });
        }
        Ok(Self(ids))
    }

    /// So many ids, each as likely.
    pub fn draw(&self, count: u32, random: &mut impl Rng) -> Vec<u32> {
        (0..count).map(|_| self.0[random.random_range(0..self.0.len())]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::counter::Counter;

    #[test]
    fn special_ids_are_never_drawn() {
        let special = BTreeSet::from([0, 2, 9]);
        let vocabulary = Vocabulary::new(10, &special).unwrap();
        let drawn = vocabulary.draw(2_000, &mut Counter::new(1, "test").at(0));
        let seen: BTreeSet<u32> = drawn.iter().copied().collect();
        assert_eq!(drawn.len(), 2_000);
        assert_eq!(seen, BTreeSet::from([1, 3, 4, 5, 6, 7, 8]));
        assert!(Vocabulary::new(2, &BTreeSet::from([0, 1])).is_err());
    }
}
