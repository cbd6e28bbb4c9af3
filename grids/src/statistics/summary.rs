//! What a set of samples looks like. No samples is `None`, never 0.

use serde::Serialize;

/// What a set of samples looks like; in the unit of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many.
    pub n: usize,
    /// The smallest.
    pub min: f64,
    /// The middle one; the mean of the two middle ones for an even count.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// (max - min) / median, in percent.
    pub spread_percent: f64,
}

/// Summarises samples; `None` when there are none, or one is not a positive finite number, as a duration has to be.
pub fn summary(samples: &[f64]) -> Option<Summary> {
    if samples.is_empty() || !samples.iter().all(|&sample| sample.is_finite() && sample > 0.0) {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
    let median = percentile(&sorted, 50.0)?;
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    let spread_percent = (max - min) / median * 100.0;
    Some(Summary { n: sorted.len(), min, median, mean, max, spread_percent })
}

/// The percentile `p` (0 to 100) of ascending samples, interpolated linearly at (n - 1) p / 100.
pub fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    if !(0.0..=100.0).contains(&p) {
        return None;
    }
    let last = sorted.len().checked_sub(1)?;
    let position = last as f64 * p / 100.0;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let share = position - below as f64;
    Some(sorted[below] + (sorted[above] - sorted[below]) * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_close(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-12
    }

    /// By hand: sorted 2 4 4 10, mean 20 / 4, median (4 + 4) / 2, spread 8 / 4.
    #[test]
    fn summary_by_hand() {
        let found = summary(&[4.0, 2.0, 10.0, 4.0]).unwrap();
        assert_eq!(found.n, 4);
        for (found, expected) in [
            (found.min, 2.0),
            (found.median, 4.0),
            (found.mean, 5.0),
            (found.max, 10.0),
            (found.spread_percent, 200.0),
        ] {
            assert!(is_close(found, expected), "{found} is not {expected}");
        }
    }

    #[test]
    fn nothing_is_not_zero() {
        assert_eq!(summary(&[]), None);
        assert_eq!(percentile(&[], 50.0), None);
        for broken in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            assert_eq!(summary(&[1.0, broken]), None);
        }
        assert_eq!(percentile(&[1.0], 101.0), None);
    }

    /// numpy.percentile([15, 20, 35, 40, 50], q) for q = 0, 5, 30, 40, 90, 100, its default linear method.
    #[test]
    fn percentiles_as_numpy_has_them() {
        let sorted = [15.0, 20.0, 35.0, 40.0, 50.0];
        for (p, expected) in
            [(0.0, 15.0), (5.0, 16.0), (30.0, 23.0), (40.0, 29.0), (90.0, 46.0), (100.0, 50.0)]
        {
            let found = percentile(&sorted, p).unwrap();
            assert!(is_close(found, expected), "p{p}: {found} is not {expected}");
        }
    }
}
