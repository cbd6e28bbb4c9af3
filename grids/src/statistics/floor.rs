//! The least effect that the set-up can resolve: what it shows between two arms that are the same.

use super::interval::Interval;
use super::{percentile, sorted};

/// Fewest past null estimates that make a history.
pub const HISTORY: usize = 30;

/// F = max(the spec's floor, |null estimate| + half width of its interval). Infinite where the null interval is unbounded.
pub fn floor(spec: f64, null: Interval) -> f64 {
    let null = null.estimate.abs() + null.half_width();
    // `f64::max` would drop a NaN; a null arm that says nothing resolves nothing.
    if null.is_nan() { f64::INFINITY } else { spec.max(null) }
}

/// The floor of a cell's own history: Q3 + 3 (Q3 - Q1) of the sizes of past null estimates, as rustc-perf sets its thresholds;
/// `None` below [`HISTORY`] of them.
pub fn of_history(nulls: &[f64]) -> Option<f64> {
    if nulls.len() < HISTORY || nulls.iter().any(|null| !null.is_finite()) {
        return None;
    }
    let sizes = sorted(&nulls.iter().map(|null| null.abs()).collect::<Vec<_>>());
    let (first, third) = (percentile(&sizes, 25.0)?, percentile(&sizes, 75.0)?);
    Some(third + 3.0 * (third - first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    #[test]
    fn the_larger_binds() {
        let null = Interval { estimate: -0.002, lower: -0.007, upper: 0.003 };
        close(floor(0.005, null), 0.007, 1e-15);
        close(floor(0.01, null), 0.01, 0.0);
        let unbounded = Interval { lower: f64::NEG_INFINITY, upper: f64::INFINITY, ..null };
        assert!(floor(0.01, unbounded).is_infinite());
        let broken = Interval { estimate: f64::NAN, ..null };
        assert!(floor(0.01, broken).is_infinite());
    }

    /// By hand: sizes 1 to 33 thousandths, quartiles 9 and 25.
    #[test]
    fn a_history_by_hand() {
        let nulls: Vec<f64> =
            (1..=33).map(|i| f64::from(i) * if i % 2 == 0 { 1e-3 } else { -1e-3 }).collect();
        close(of_history(&nulls).unwrap(), 0.025 + 3.0 * 0.016, 1e-12);
        assert_eq!(of_history(&nulls[..29]), None);
    }
}
