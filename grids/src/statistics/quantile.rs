//! Percentiles inside a run: the interval by order statistics, the number of samples below which there is none, and failed
//! requests as infinitely slow ones.
//!
//! The number of samples below the true percentile p is binomial (n, p) whatever the distribution (H. A. David and H. N. Nagaraja,
//! Order Statistics, 7.1). It counts *independent* samples: requests of one batch are not.

use std::fmt;

use super::distribution::binomial_cdf;

/// Searches for a floor end here: no run has more samples.
const MOST_SAMPLES: u64 = 10_000_000;

/// A percentile with its bounds, or how many samples it would take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantile {
    /// The nearest-rank percentile between two of the samples.
    Known {
        /// The percentile: the smallest sample that at least this share does not exceed.
        value: f64,
        /// The lower bound.
        lower: f64,
        /// The upper bound; infinite where it is a failed request.
        upper: f64,
    },
    /// Too few samples for an interval.
    Needs(u64),
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known { value, lower, upper } => {
                write!(f, "{} [{}, {}]", Shown(*value), Shown(*lower), Shown(*upper))
            }
            Self::Needs(samples) => write!(f, "n/a (needs {samples})"),
        }
    }
}

/// A sample, or the word for a request that never ended well.
struct Shown(f64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_infinite() { f.write_str("failed") } else { write!(f, "{:.3}", self.0) }
    }
}

/// The percentile `p` (above 0, below 100) of ascending samples by nearest rank: sample number ceil(n p / 100), 1 the first. No
/// interpolation: between a sample and infinity there is nothing. `None` of nothing.
pub fn nearest_rank(sorted: &[f64], p: f64) -> Option<f64> {
    if !(p > 0.0 && p < 100.0) {
        return None;
    }
    // A product like 0.99 * 100 may come out a hair above a whole number.
    let rank = (sorted.len() as f64 * p / 100.0 - 1e-9).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// Samples in ascending order with each failed request as an infinite one, so that failing is never fast. `None` where a sample
/// is no number.
pub fn with_failed(samples: &[f64], failed: usize) -> Option<Vec<f64>> {
    if samples.iter().any(|sample| !sample.is_finite()) {
        return None;
    }
    let mut sorted = super::sorted(samples);
    sorted.resize(samples.len() + failed, f64::INFINITY);
    Some(sorted)
}

/// The percentile `p` of ascending samples (failed ones infinite) with the interval that misses with probability `alpha`: the
/// l-th and u-th sample with P(B < l) <= alpha / 2 and P(B >= u) <= alpha / 2. `None` of a `p` or samples that are none.
pub fn quantile(sorted: &[f64], p: f64, alpha: f64) -> Option<Quantile> {
    let floor = samples_needed(p, alpha)?;
    let n = sorted.len() as u64;
    if sorted.iter().any(|sample| sample.is_nan()) {
        return None;
    }
    if n < floor {
        return Some(Quantile::Needs(floor));
    }
    let share = p / 100.0;
    let value = nearest_rank(sorted, p)?;
    let lower = last(n, |l| binomial_cdf(l - 1, n, share) <= alpha / 2.0);
    // P(B >= u) <= alpha / 2 holds from some u on; below it does not.
    let upper = last(n, |u| 1.0 - binomial_cdf(u - 1, n, share) > alpha / 2.0) + 1;
    let at = |rank: u64| sorted.get(rank as usize - 1).copied();
    Some(Quantile::Known { value, lower: at(lower)?, upper: at(upper)? })
}

/// How many independent samples the two-sided interval of percentile `p` takes: the first and the last sample must be bounds,
/// p^n <= alpha / 2 and (1 - p)^n <= alpha / 2. At 5 %: 6 for the median, 36, 72, 368 and 3688 for p90, p95, p99, p99.9.
pub fn samples_needed(p: f64, alpha: f64) -> Option<u64> {
    if !(p > 0.0 && p < 100.0 && alpha > 0.0 && alpha < 1.0) {
        return None;
    }
    let share = (p / 100.0).max(1.0 - p / 100.0);
    let needed = ((alpha / 2.0).ln() / share.ln() - 1e-9).ceil();
    Some(needed as u64)
}

/// MLCommons' floor (LoadGen's early stopping): how many samples it takes to say, one-sided with `confidence`, that percentile
/// `p` is within a limit when `above` samples may lie above it. At 99 % with one above: 11, 64, 130, 662, 6636 for p50 to p99.9.
pub fn early_stopping_samples(p: f64, confidence: f64, above: u64) -> Option<u64> {
    if !(p > 0.0 && p < 100.0 && confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let is_enough = |n: u64| binomial_cdf(above, n, 1.0 - p / 100.0) <= 1.0 - confidence;
    let needed = 1 + last(MOST_SAMPLES, |n| n <= above || !is_enough(n));
    (needed <= MOST_SAMPLES).then_some(needed)
}

/// The last of 1 to `end` for which a condition holds that holds up to some number and never after; 0 where it never does.
fn last(end: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, end + 1);
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(n: u32) -> Vec<f64> {
        (1..=n).map(f64::from).collect()
    }

    /// In Python: largest l with `binom.cdf(l - 1, n, p) <= .025`, smallest u with `binom.sf(u - 1, n, p) <= .025`.
    #[test]
    fn intervals_as_scipy_has_them() {
        for (n, p, lower, upper) in [
            (100, 50.0, 40.0, 61.0),
            (100, 90.0, 84.0, 96.0),
            (72, 95.0, 64.0, 72.0),
            (400, 99.0, 392.0, 400.0),
        ] {
            let value = (f64::from(n) * p / 100.0).ceil();
            let found = quantile(&ranks(n), p, 0.05).unwrap();
            assert_eq!(found, Quantile::Known { value, lower, upper }, "n {n} p{p}");
        }
    }

    /// Two-sided 5 %: ln(.025) / ln(p), rounded up. MLCommons: its own table of minimum query counts, one allowed above.
    #[test]
    fn floors() {
        for (p, own, mlcommons) in
            [(50.0, 6, 11), (90.0, 36, 64), (95.0, 72, 130), (99.0, 368, 662), (99.9, 3688, 6636)]
        {
            assert_eq!(samples_needed(p, 0.05), Some(own));
            assert_eq!(early_stopping_samples(p, 0.99, 1), Some(mlcommons));
        }
        assert_eq!(samples_needed(100.0, 0.05), None);
        let too_few = quantile(&ranks(35), 90.0, 0.05).unwrap();
        assert_eq!(too_few.to_string(), "n/a (needs 36)");
        assert!(matches!(quantile(&ranks(36), 90.0, 0.05), Some(Quantile::Known { .. })));
    }

    #[test]
    fn a_failed_request_is_the_slowest() {
        let samples = with_failed(&ranks(98), 2).unwrap();
        assert_eq!(nearest_rank(&samples, 98.0), Some(98.0));
        assert_eq!(nearest_rank(&samples, 99.0), Some(f64::INFINITY));
        let found = quantile(&samples, 90.0, 0.05).unwrap();
        assert_eq!(found.to_string(), "90.000 [84.000, 96.000]");
        let found = quantile(&with_failed(&ranks(90), 10).unwrap(), 90.0, 0.05).unwrap();
        assert_eq!(found.to_string(), "90.000 [84.000, failed]");
        assert_eq!(with_failed(&[f64::NAN], 0), None);
        assert_eq!((nearest_rank(&[], 50.0), quantile(&[f64::NAN; 9], 50.0, 0.05)), (None, None));
    }
}
