//! What n pairs can show, and how many pairs it takes.

use super::distribution::{noncentral_t_cdf, t_quantile};
use super::estimate::half_width;
use super::signed_rank;

/// Power at which effects are called detectable.
pub const POWER: f64 = 0.8;
/// More pairs than this are not a plan: the effect lies on the bound.
pub const MOST_PAIRS: usize = 1000;

/// The least true log ratio that `pairs` pairs show with probability `power`, for runs with the standard deviation `sigma` of
/// ln(metric): (t(1 - alpha / 2, n - 1) + t(power, n - 1)) sqrt(2) sigma / sqrt(n). `None` below two pairs.
///
/// The usual two-quantile approximation (J. Cohen, Statistical Power Analysis, section 12.8); [`power`] is exact.
pub fn detectable(sigma: f64, pairs: usize, alpha: f64, power: f64) -> Option<f64> {
    if pairs < 2 {
        return None;
    }
    let df = pairs as f64 - 1.0;
    let quantiles = t_quantile(1.0 - alpha / 2.0, df) + t_quantile(power, df);
    let found = quantiles * 2.0_f64.sqrt() * sigma / (pairs as f64).sqrt();
    found.is_finite().then_some(found)
}

/// The probability that the slot-adjusted t test (n - 2 degrees of freedom) at two-sided `alpha` sees a true log ratio of
/// `effect`, for pairs with standard deviation `deviation` (sqrt(2) of a run's). Exact, by the noncentral t; 0 below three pairs.
pub fn power(effect: f64, deviation: f64, pairs: usize, alpha: f64) -> f64 {
    if pairs < 3 {
        return 0.0;
    }
    let df = pairs as f64 - 2.0;
    let critical = t_quantile(1.0 - alpha / 2.0, df);
    let delta = effect.abs() * (pairs as f64).sqrt() / deviation;
    1.0 - noncentral_t_cdf(critical, df, delta) + noncentral_t_cdf(-critical, df, delta)
}

/// The probability that both methods see it: the t test at the level that the signed-rank interval of so many pairs really has,
/// which is at most alpha, with the rank test's efficiency 3 / pi at normal noise (E. J. G. Pitman; Lehmann, Nonparametrics,
/// 2.4). 0 where ranks can show nothing.
pub fn power_of_both(effect: f64, deviation: f64, pairs: usize, alpha: f64) -> f64 {
    let achieved = signed_rank::achieved_alpha(pairs, alpha);
    if achieved > 0.0 {
        let efficiency = 3.0 / std::f64::consts::PI;
        power(effect, deviation / efficiency.sqrt(), pairs, achieved)
            .min(power(effect, deviation, pairs, alpha))
    } else {
        0.0
    }
}

/// The smallest even number of pairs with which both methods see `effect` with probability `target`; `None` above
/// [`MOST_PAIRS`].
pub fn pairs_needed(effect: f64, deviation: f64, alpha: f64, target: f64) -> Option<usize> {
    // The signed-rank distribution of hundreds is as good as normal: past 60 the t test alone, thinned, is meant.
    let power = |pairs: usize| {
        if pairs <= 60 {
            power_of_both(effect, deviation, pairs, alpha)
        } else {
            power(effect, deviation / (3.0 / std::f64::consts::PI).sqrt(), pairs, alpha)
        }
    };
    (4..=MOST_PAIRS).step_by(2).find(|pairs| power(*pairs) >= target)
}

/// How many units (pairs or sessions) it takes until the half width at `alpha` is below `distance`, when they go on to spread as
/// they did; `None` above [`MOST_PAIRS`] or where `distance` is no positive number.
pub fn units_needed(deviation: f64, lost: usize, distance: f64, alpha: f64) -> Option<usize> {
    if !(distance > 0.0 && deviation.is_finite()) {
        return None;
    }
    (lost + 1..=MOST_PAIRS).find(|units| half_width(deviation, *units, lost, alpha) < distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    /// By the formula and the t table: sigma 1 % gives 2.0, 1.4, 0.93 and 0.75 % with 6, 10, 20 and 30 pairs.
    #[test]
    fn detectable_by_the_table() {
        for (pairs, percent) in [(6, 2.0), (10, 1.4), (20, 0.93), (30, 0.75)] {
            let found = detectable(0.01, pairs, 0.05, POWER).unwrap();
            close(100.0 * found, percent, 0.02);
        }
        assert_eq!(detectable(0.01, 1, 0.05, POWER), None);
        assert_eq!(detectable(f64::NAN, 9, 0.05, POWER), None);
    }

    /// scipy 1.17.1: `1 - nct.cdf(t, n - 2, d) + nct.cdf(-t, n - 2, d)`, d = effect sqrt(n) / 0.01414, t = t.ppf(.975, n - 2).
    #[test]
    fn power_as_scipy_has_it() {
        for (effect, pairs, expected) in [
            (0.01, 10, 0.502_605_276_891_851_6),
            (0.01, 16, 0.748_868_711_337_904_2),
            (0.01, 24, 0.911_474_228_839_319_2),
            (0.02, 6, 0.736_797_018_557_205),
        ] {
            close(power(effect, 0.01414, pairs, 0.05), expected, 1e-9);
        }
    }

    #[test]
    fn what_is_needed_suffices_and_less_does_not() {
        let needed = pairs_needed(0.02, 0.014, 0.05, POWER).unwrap();
        assert!(power_of_both(0.02, 0.014, needed, 0.05) >= POWER);
        assert!(power_of_both(0.02, 0.014, needed - 2, 0.05) < POWER);
        assert_eq!(pairs_needed(1e-6, 0.014, 0.05, POWER), None);
        let units = units_needed(0.014, 2, 0.01, 0.05).unwrap();
        assert!(
            half_width(0.014, units, 2, 0.05) < 0.01
                && half_width(0.014, units - 1, 2, 0.05) >= 0.01
        );
        assert_eq!(units_needed(0.014, 2, 0.0, 0.05), None);
        assert_eq!(units_needed(f64::NAN, 2, 0.1, 0.05), None);
    }
}
