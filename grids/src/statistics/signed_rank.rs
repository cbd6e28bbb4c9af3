//! Wilcoxon's signed ranks: the exact null distribution, its p-value, and the Hodges-Lehmann estimate with the interval that
//! inverts the test.
//!
//! J. L. Hodges and E. L. Lehmann, Annals of Mathematical Statistics 34 (1963) 598-611; the interval as in M. Hollander and D. A.
//! Wolfe, Nonparametric Statistical Methods, section 3.4: the k-th smallest and k-th largest Walsh average.

use super::interval::Interval;
use super::sorted;

/// A level is reached when a probability is at most this much above it: sums of powers of two round.
const ROUNDING: f64 = 1e-12;

/// P(T <= t) of the sum of those ranks that bear a positive sign, each with probability 1/2, for every doubled sum 0, 1, 2...
///
/// Ranks are given doubled, so that the mid-ranks of ties are whole numbers. By dynamic programming over the ranks; exact but for
/// rounding.
fn null_cdf(doubled_ranks: &[usize]) -> Vec<f64> {
    let mut chance = vec![1.0];
    for &rank in doubled_ranks {
        let mut next = vec![0.0; chance.len() + rank];
        for (sum, &probability) in chance.iter().enumerate() {
            next[sum] += probability / 2.0;
            next[sum + rank] += probability / 2.0;
        }
        chance = next;
    }
    let mut total = 0.0;
    for probability in &mut chance {
        total += *probability;
        *probability = total;
    }
    chance
}

/// Twice the mid-rank of each magnitude.
fn doubled_ranks(magnitudes: &[f64]) -> Vec<usize> {
    let below = |value: f64| magnitudes.iter().filter(|other| **other < value).count();
    let up_to = |value: f64| magnitudes.iter().filter(|other| **other <= value).count();
    magnitudes.iter().map(|&value| below(value) + up_to(value) + 1).collect()
}

/// The two-sided exact p-value of "symmetric about 0"; zeros are left out (Wilcoxon), ties have mid-ranks. `None` of nothing but
/// zeros and of what is no number.
pub fn p_value(differences: &[f64]) -> Option<f64> {
    if differences.iter().any(|difference| !difference.is_finite()) {
        return None;
    }
    let signed: Vec<f64> = differences.iter().copied().filter(|d| d.abs() > 0.0).collect();
    if signed.is_empty() {
        return None;
    }
    let ranks = doubled_ranks(&signed.iter().map(|d| d.abs()).collect::<Vec<_>>());
    let positive: usize =
        signed.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank).sum();
    let all: usize = ranks.iter().sum();
    let cdf = null_cdf(&ranks);
    Some((2.0 * cdf[positive.min(all - positive)]).min(1.0))
}

/// The Hodges-Lehmann estimate of differences, ready to be asked for intervals.
#[derive(Clone, Debug)]
pub struct HodgesLehmann {
    /// Means of every two differences and of each with itself, ascending.
    walsh: Vec<f64>,
    /// P(T <= t) for n differences without ties.
    cdf: Vec<f64>,
}

impl HodgesLehmann {
    /// `None` of nothing and of what is no number.
    pub fn of(differences: &[f64]) -> Option<Self> {
        if differences.is_empty() || differences.iter().any(|d| !d.is_finite()) {
            return None;
        }
        let n = differences.len();
        let mut walsh = Vec::with_capacity(n * (n + 1) / 2);
        for (index, first) in differences.iter().enumerate() {
            walsh.extend(differences[index..].iter().map(|second| f64::midpoint(*first, *second)));
        }
        let doubled = null_cdf(&(1..=n).map(|rank| 2 * rank).collect::<Vec<_>>());
        let cdf = doubled.into_iter().step_by(2).collect();
        Some(Self { walsh: sorted(&walsh), cdf })
    }

    /// The median of the Walsh averages.
    pub fn estimate(&self) -> f64 {
        let middle = self.walsh.len() / 2;
        if self.walsh.len() % 2 == 1 {
            self.walsh[middle]
        } else {
            f64::midpoint(self.walsh[middle - 1], self.walsh[middle])
        }
    }

    /// The interval that misses with probability `alpha` at most. With ties it misses less often. Unbounded where no sum is
    /// rare enough: below 6 differences at 5 %.
    pub fn interval(&self, alpha: f64) -> Interval {
        let estimate = self.estimate();
        // How many sums, from 0 on, are together no more likely than alpha / 2.
        let rare = self.cdf.partition_point(|chance| *chance <= alpha / 2.0 + ROUNDING);
        if rare == 0 || alpha.is_nan() {
            return Interval { estimate, lower: f64::NEG_INFINITY, upper: f64::INFINITY };
        }
        let k = rare.min(self.walsh.len().div_ceil(2));
        Interval { estimate, lower: self.walsh[k - 1], upper: self.walsh[self.walsh.len() - k] }
    }
}

/// The level that the interval of `n` differences really has when `alpha` is asked for; 0 where it is unbounded.
pub fn achieved_alpha(n: usize, alpha: f64) -> f64 {
    let doubled = null_cdf(&(1..=n).map(|rank| 2 * rank).collect::<Vec<_>>());
    let reached = doubled.into_iter().step_by(2).take_while(|c| *c <= alpha / 2.0 + ROUNDING);
    2.0 * reached.last().unwrap_or(0.0)
}

/// How many differences it takes until the interval at `alpha` has bounds: 2 / 2^n <= alpha.
pub fn needed(alpha: f64) -> usize {
    (1..=64).find(|n| 2.0 * 0.5_f64.powi(*n) <= alpha + ROUNDING).unwrap_or(64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    /// Depression scores of Hollander and Wolfe, table 3.1; in section 3.4 they find -0.46 and (-0.786, -0.010) at 96.1 %.
    const DEPRESSION: [f64; 9] = [-0.952, 0.147, -1.022, -0.43, -0.62, -0.59, -0.49, 0.08, -0.01];

    #[test]
    fn interval_of_hollander_and_wolfe() {
        let found = HodgesLehmann::of(&DEPRESSION).unwrap();
        let interval = found.interval(0.05);
        close(interval.estimate, -0.46, 1e-12);
        close(interval.lower, -0.786, 1e-12);
        close(interval.upper, -0.010, 1e-12);
        close(achieved_alpha(9, 0.05), 0.039_062_5, 1e-12);
        // scipy 1.17.1: `stats.wilcoxon(d, method='exact').pvalue`.
        close(p_value(&DEPRESSION).unwrap(), 0.039_062_5, 1e-12);
    }

    /// Enumerated in Python: all 2^n signs, `scipy.stats.rankdata` of the magnitudes, zeros left out.
    #[test]
    fn ties_and_zeros_by_enumeration() {
        let cases: [(&[f64], f64); 3] = [
            (&[1.0, 1.0, -1.0, 2.0, 3.0], 0.25),
            (&[0.0, 0.5, 0.5, -0.5, 0.25, 0.75, 1.0, 1.5], 0.078_125),
            (&[2.0, -2.0, 2.0, 2.0, -3.0, 4.0, 4.0, 5.0, 5.0, 5.0], 0.042_968_75),
        ];
        for (differences, expected) in cases {
            close(p_value(differences).unwrap(), expected, 1e-12);
        }
    }

    /// Below six, no sum is rare enough for 5 %.
    #[test]
    fn few_exclude_nothing() {
        for n in 1..=5 {
            let same = vec![1.0; n];
            let interval = HodgesLehmann::of(&same).unwrap().interval(0.05);
            assert!(!interval.is_bounded());
            close(interval.estimate, 1.0, 0.0);
        }
        assert_eq!(needed(0.05), 6);
        assert_eq!(
            HodgesLehmann::of(&[1.0; 6]).unwrap().interval(0.05),
            Interval::around(1.0, 0.0)
        );
    }

    #[test]
    fn no_number_gives_nothing() {
        assert!(HodgesLehmann::of(&[]).is_none() && HodgesLehmann::of(&[1.0, f64::NAN]).is_none());
        assert_eq!((p_value(&[]), p_value(&[0.0, 0.0]), p_value(&[f64::NAN])), (None, None, None));
        assert!(!HodgesLehmann::of(&[1.0; 9]).unwrap().interval(f64::NAN).is_bounded());
    }

    proptest::proptest! {
        /// The interval inverts the test: shifted by a bound's neighbour inside or outside, the p-value is above or at most alpha.
        #[test]
        fn interval_and_test_agree(differences in proptest::collection::vec(-1.0_f64..1.0, 7..14)) {
            let interval = HodgesLehmann::of(&differences).unwrap().interval(0.05);
            let p = |at: f64| p_value(&differences.iter().map(|d| d - at).collect::<Vec<_>>()).unwrap();
            proptest::prop_assert!(p(interval.lower - 1e-9) <= 0.05 + 1e-9);
            proptest::prop_assert!(p(interval.upper + 1e-9) <= 0.05 + 1e-9);
            proptest::prop_assert!(p(interval.lower + 1e-9) > 0.05);
        }
    }
}
