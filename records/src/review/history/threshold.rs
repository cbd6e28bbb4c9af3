//! The threshold of a number from its own history. Nothing is decided by it: it says where to look.

use crate::review::median::median;

/// Earlier values that a threshold needs.
pub const FEWEST: usize = 5;
/// Standard deviations of a normal distribution that a median absolute deviation is multiplied up to.
const DEVIATIONS: f64 = 3.0;
/// What makes a median absolute deviation a standard deviation of a normal distribution: 1 / the 75th percentile of the
/// standard normal (P. J. Rousseeuw and C. Croux, JASA 88 (1993) 1273-1283).
const CONSISTENCY: f64 = 1.4826;

/// Where the next value is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The median of the earlier values.
    pub median: f64,
    /// How far from it is not yet outside.
    pub half_width: f64,
}

impl Threshold {
    /// From the earlier values; `None` where they are fewer than [`FEWEST`] or not all numbers.
    pub fn of(earlier: &[f64]) -> Option<Self> {
        if earlier.len() < FEWEST || !earlier.iter().all(|value| value.is_finite()) {
            return None;
        }
        let middle = median(earlier)?;
        let deviations: Vec<f64> = earlier.iter().map(|value| (value - middle).abs()).collect();
        let half_width = DEVIATIONS * CONSISTENCY * median(&deviations)?;
        Some(Self { median: middle, half_width })
    }

    /// Whether a value lies within; what is no number does not.
    pub fn holds(&self, value: f64) -> bool {
        (value - self.median).abs() <= self.half_width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_gives_a_threshold() {
        assert_eq!(Threshold::of(&[1.0; 4]), None);
        assert_eq!(Threshold::of(&[1.0, 2.0, f64::NAN, 4.0, 5.0]), None);
        let found = Threshold::of(&[10.0, 12.0, 11.0, 9.0, 100.0]).unwrap();
        assert!((found.median - 11.0).abs() < 1e-12);
        // Deviations 1, 1, 0, 2, 89: the middle one is 1.
        assert!((found.half_width - 3.0 * 1.4826).abs() < 1e-12);
        assert!(found.holds(15.0) && !found.holds(16.0) && !found.holds(f64::NAN));
        let same = Threshold::of(&[30.0; 5]).unwrap();
        assert!(same.holds(30.0) && !same.holds(29.0));
    }
}
