//! Statistics: pure functions over samples. No samples is `None`, never 0; what is not a finite number gives nothing.
//!
//! A comparison of two arms is made of [`pair::Pair`]s of runs, on the scale of the natural logarithm, and of two methods that
//! both have to say a thing before it is said ([`estimate::Estimator`]). Intervals are [`interval::Interval`]s.
//!
//! | module | what it answers |
//! |---|---|
//! | [`mod@summary`] | what a set of samples looks like |
//! | [`distribution`] | normal, Student's, binomial and noncentral t probabilities |
//! | [`interval`] | an estimate and its bounds |
//! | [`pair`] | log ratios of pairs, the effect of the slot taken out |
//! | [`signed_rank`] | Hodges-Lehmann estimate with the exact signed-rank interval |
//! | [`student`] | geometric mean of ratios with a t interval |
//! | [`bootstrap`] | BCa intervals by pair and session, for odd statistics |
//! | [`session`] | one estimate of several sessions |
//! | [`estimate`] | all of the above as one comparison |
//! | [`sign_test`] | the sanity check |
//! | [`multiplicity`] | Holm, Benjamini-Hochberg |
//! | [`look`] | planned looks: Pocock, O'Brien-Fleming |
//! | [`power`] | what can be seen with n pairs, and how many pairs it takes |
//! | [`floor`] | the least effect that the set-up can resolve |
//! | [`drift`], [`step`] | whether the machine moved underneath |
//! | [`quantile`] | percentiles with order-statistic intervals, floors, failed requests as infinite |
//! | [`wilson`], [`boundary`], [`knee`] | shares, the highest load within an objective, where a curve bends |

pub mod bootstrap;
pub mod boundary;
pub mod distribution;
pub mod drift;
pub mod estimate;
pub mod floor;
pub mod interval;
pub mod knee;
pub mod look;
pub mod multiplicity;
pub mod pair;
pub mod power;
pub mod quantile;
pub mod session;
pub mod sign_test;
pub mod signed_rank;
pub mod step;
pub mod student;
pub mod summary;
pub mod wilson;

pub use summary::{Summary, percentile, summary};

/// The arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() { None } else { Some(values.iter().sum::<f64>() / values.len() as f64) }
}

/// The sample standard deviation (n - 1); `None` of fewer than two.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() >= 2)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The middle value of values in any order; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    percentile(&sorted(values), 50.0)
}

/// Ascending.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
pub(crate) mod tests {
    /// `found` is `expected` within `tolerance`.
    #[track_caller]
    pub(crate) fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }

    #[test]
    fn deviation_by_hand() {
        assert_eq!(super::deviation(&[1.0]), None);
        close(super::deviation(&[1.0, 3.0]).unwrap(), 2.0_f64.sqrt(), 1e-15);
    }
}
