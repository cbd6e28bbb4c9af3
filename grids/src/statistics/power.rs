//! What n pairs can show, and how many pairs it takes.

use super::distribution::{noncentral_t_cdf, normal_cdf, t_quantile};
use super::estimate::half_width;
use super::signed_rank;

/// Power at which effects are called detectable.
pub const POWER: f64 = 0.8;
/// More pairs than this are not a plan: the effect lies on the bound.
pub const MOST_PAIRS: usize = 1000;
/// How much wider the hull of the rank and the t interval is than the t interval, on one side: 1.03 to 1.04 for 16 to 30 normal
/// pairs.
const HULL: f64 = 1.035;

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

/// The probability that a change by `effect` is called one: that the interval of both methods lies beyond F, the larger of
/// `spec_floor` and what the null arm shows, |estimate| + half width.
///
/// Subject and twin share the reference's runs, so that their estimates correlate by 1/2. Given the null estimate z, the sum of
/// the estimate and both half widths is about normal: its mean is effect less both half widths, its variance 3/4 of a pair's and
/// what the deviations spread. The integral over z is Simpson's. The half width of both methods' hull is `HULL` times the t
/// interval's.
pub fn power_beyond_floor(
    effect: f64,
    deviation: f64,
    pairs: usize,
    alpha: f64,
    spec_floor: f64,
) -> f64 {
    if pairs < signed_rank::needed(alpha).max(3) {
        return 0.0;
    }
    let (n, df) = (pairs as f64, pairs as f64 - 2.0);
    let error = deviation / n.sqrt();
    let half = t_quantile(1.0 - alpha / 2.0, df) * HULL * error;
    // E and variance of s / sigma: sqrt(chi2 / df), by the first terms of their series.
    let (expected, spread) = (1.0 - 1.0 / (4.0 * df), 1.0 / (2.0 * df));
    let alone = half * half * spread;
    let chance = |z: f64| {
        // The estimates correlate by 1/2, their squared deviations by 1/4.
        let given = effect.abs() + z / 2.0;
        let by_null = normal_cdf(
            (given - 2.0 * half * expected - z.abs())
                / (0.75 * error * error + 2.0 * (1.0 + 0.25) * alone).sqrt(),
        );
        let by_spec = normal_cdf(
            (given - half * expected - spec_floor) / (0.75 * error * error + alone).sqrt(),
        );
        by_null.min(by_spec)
    };
    let (reach, steps) = (6.0 * error, 200);
    let at = |step: usize| {
        let z = reach * (2.0 * step as f64 / f64::from(steps) - 1.0);
        let weight = if step == 0 || step == steps as usize { 1.0 } else { [2.0, 4.0][step % 2] };
        weight * chance(z) * (-z * z / (2.0 * error * error)).exp()
    };
    let sum: f64 = (0..=steps as usize).map(at).sum();
    sum * 2.0 * reach / f64::from(steps) / 3.0 / (error * (2.0 * std::f64::consts::PI).sqrt())
}

/// The smallest even number of pairs of which `power` says at least `target`; `None` above [`MOST_PAIRS`].
pub fn pairs_needed(power: impl Fn(usize) -> f64, target: f64) -> Option<usize> {
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
        let power = |pairs| power_of_both(0.02, 0.014, pairs, 0.05);
        let needed = pairs_needed(power, POWER).unwrap();
        assert!(power(needed) >= POWER && power(needed - 2) < POWER);
        assert_eq!(pairs_needed(|_| 0.5, POWER), None);
        let units = units_needed(0.014, 2, 0.01, 0.05).unwrap();
        assert!(
            half_width(0.014, units, 2, 0.05) < 0.01
                && half_width(0.014, units - 1, 2, 0.05) >= 0.01
        );
        assert_eq!(units_needed(0.014, 2, 0.0, 0.05), None);
        assert_eq!(units_needed(f64::NAN, 2, 0.1, 0.05), None);
    }
}
