//! The only place where floats are compared, always as `difference <= tolerance`, so that NaN fails.

use serde::{Deserialize, Deserializer};

/// One nat in milli-nats, the unit in which gaps between log-probabilities are written.
const MNATS_PER_NAT: f64 = 1000.0;

/// The gap `higher - lower` of two log-probabilities (natural log), in milli-nats.
pub fn gap_mnats(higher: f64, lower: f64) -> f64 {
    (higher - lower) * MNATS_PER_NAT
}

/// The absolute difference of two log-probabilities (natural log), in milli-nats.
pub fn difference_mnats(a: f64, b: f64) -> f64 {
    ((a - b) * MNATS_PER_NAT).abs()
}

/// Whether `difference` lies within `tolerance`. NaN on either side, and an infinite difference, do not.
pub fn within(difference: f64, tolerance: f64) -> bool {
    difference.is_finite() && difference <= tolerance
}

/// The largest of some differences: `None` when there are none, NaN as soon as one of them is NaN.
///
/// `f64::max` drops NaN, which would turn a broken answer into a small difference.
pub fn largest(differences: impl IntoIterator<Item = f64>) -> Option<f64> {
    differences
        .into_iter()
        .reduce(|a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })
}

/// Whether every value is a real number: an oracle or a subject that answers NaN or infinity did not answer.
pub fn all_finite(values: impl IntoIterator<Item = f64>) -> bool {
    values.into_iter().all(f64::is_finite)
}

/// Reads a float of the evidence. JSON has no word for NaN and the infinities: serde writes `null` for each of them, and here that
/// is read as NaN, so that what was no number when it was judged is none when it is judged again. For a float that may be absent,
/// `Option` says so.
pub fn nan_of_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// [`nan_of_null`] for each entry of a ranking.
pub fn ranking_nan_of_null<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(u32, f64)>, D::Error> {
    let entries: Vec<(u32, Option<f64>)> = Vec::deserialize(deserializer)?;
    Ok(entries.into_iter().map(|(id, value)| (id, value.unwrap_or(f64::NAN))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_and_infinity_are_never_within() {
        for difference in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!within(difference, 250.0), "{difference}");
        }
        assert!(!within(0.0, f64::NAN));
        assert!(within(0.0, 0.0));
        assert!(within(250.0, 250.0));
        assert!(!within(250.000_001, 250.0));
    }

    #[test]
    fn largest_keeps_nan_and_knows_nothing_of_nothing() {
        assert_eq!(largest([]), None);
        assert!(largest([1.0, f64::NAN, 2.0]).is_some_and(f64::is_nan));
        assert!(largest([f64::NAN]).is_some_and(f64::is_nan));
        assert!(within(largest([1.0, 3.0, 2.0]).unwrap() - 3.0, 0.0));
    }

    #[test]
    fn gaps_are_in_milli_nats() {
        assert!(within((gap_mnats(-0.5, -0.75) - 250.0).abs(), 1e-9));
        assert!(within((difference_mnats(-0.75, -0.5) - 250.0).abs(), 1e-9));
        assert!(!within(gap_mnats(f64::NAN, -0.5), 1e9));
        assert!(!within(difference_mnats(f64::NEG_INFINITY, f64::NEG_INFINITY), 1e9));
    }

    #[test]
    fn all_finite_refuses_nan_and_infinity() {
        assert!(all_finite([0.0, -1.5]));
        assert!(!all_finite([0.0, f64::NAN]));
        assert!(!all_finite([f64::NEG_INFINITY]));
    }

    proptest::proptest! {
        #[test]
        fn within_is_the_positive_form(d in proptest::num::f64::ANY, t in proptest::num::f64::ANY) {
            if within(d, t) {
                proptest::prop_assert!(d.is_finite() && !t.is_nan());
            }
        }
    }
}
