//! Whether a series jumped once: the largest split of its ranks, with a permutation p-value.
//!
//! A. N. Pettitt, Applied Statistics 28 (1979) 126-135; his approximate p-value is poor for the ten to twenty runs of a series, so
//! the ranks are shuffled instead.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::median;

/// Fewest points.
pub const FEWEST: usize = 6;
/// Shuffles; the smallest p-value is one in a thousand.
const SHUFFLES: usize = 999;

/// The likeliest jump.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// How many values come before it.
    pub after: usize,
    /// Median after it less median before it.
    pub size: f64,
    /// p-value of "no jump".
    pub p: f64,
}

/// Of values in order of time; `None` of fewer than [`FEWEST`], of no number, and of a jump whose size is not above `least`.
pub fn step(values: &[f64], least: f64, seed: u64) -> Option<Step> {
    if values.len() < FEWEST || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let below = |value: f64| values.iter().filter(|other| **other < value).count() as i64;
    let above = |value: f64| values.iter().filter(|other| **other > value).count() as i64;
    // Each value's mid-rank less the mean rank, doubled.
    let mut ranks: Vec<i64> = values.iter().map(|value| below(*value) - above(*value)).collect();
    let (after, largest) = split(&ranks);
    let size = median(&values[after..])? - median(&values[..after])?;
    if size.abs() <= least {
        return None;
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut as_large = 1;
    for _ in 0..SHUFFLES {
        ranks.shuffle(&mut random);
        as_large += usize::from(split(&ranks).1 >= largest);
    }
    Some(Step { after, size, p: as_large as f64 / (SHUFFLES + 1) as f64 })
}

/// Where the partial sums of ranks are farthest from 0, and how far.
fn split(ranks: &[i64]) -> (usize, i64) {
    let mut sum = 0;
    let mut best = (1, 0);
    for (index, rank) in ranks[..ranks.len() - 1].iter().enumerate() {
        sum += rank;
        if sum.abs() > best.1 {
            best = (index + 1, sum.abs());
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    /// By hand: of 12 values the last five are 1 higher. A split as clean as this one has 2 in C(12, 5) = 792 arrangements of two
    /// groups, and only the clean ones reach its sum, forwards or backwards.
    #[test]
    fn a_jump_is_found_where_it_is() {
        let values = [0.1, 0.3, 0.2, 0.0, 0.15, 0.25, 0.05, 1.2, 1.1, 1.3, 1.0, 1.25];
        let found = step(&values, 0.5, 1).unwrap();
        assert_eq!(found.after, 7);
        close(found.size, 1.05, 1e-12);
        assert!(found.p < 0.01, "{}", found.p);
    }

    #[test]
    fn steady_is_no_jump() {
        let found = step(&[0.1, 0.3, 0.2, 0.0, 0.15, 0.25, 0.05, 0.22], 0.0, 1).unwrap();
        assert!(found.p > 0.2, "{}", found.p);
        assert_eq!(step(&[1.0; 8], 0.0, 1), None);
        assert_eq!(step(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0], 1.0, 1), None);
        assert_eq!(step(&[1.0; 5], 0.0, 1), None);
        assert_eq!(step(&[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN], 0.0, 1), None);
    }
}
