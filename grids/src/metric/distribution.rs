//! A set of latencies as it is reported: percentiles that say when they have too few samples.

use serde::{Deserialize, Serialize};

use crate::statistics;
use crate::statistics::quantile::{Quantile, nearest_rank, quantile, samples_needed, with_failed};

/// The percentiles that are reported.
pub const PERCENTILES: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// A percentile is printed when a two-sided interval around it exists that misses with this probability.
pub const ALPHA: f64 = 0.05;

/// One percentile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Percentile {
    /// 0 to 100.
    pub p: f64,
    /// Linear interpolation at (n - 1) p / 100; `None` below the floor.
    pub value_ms: Option<f64>,
    /// The order statistics that bound it at 95 %, for samples of one a request: pooled ones are not independent.
    pub between_ms: Option<(f64, f64)>,
    /// How many independent samples it takes.
    pub needs: usize,
}

/// Latencies, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// Samples.
    pub n: usize,
    /// Requests that they come from: gaps of one request are not independent, so that floors count requests.
    pub requests: usize,
    /// The smallest.
    pub min_ms: f64,
    /// The arithmetic mean.
    pub mean_ms: f64,
    /// The largest.
    pub max_ms: f64,
    /// The percentiles of [`PERCENTILES`].
    pub percentiles: Vec<Percentile>,
}

impl Distribution {
    /// Of `values` in milliseconds from so many requests; `None` of nothing, or if one is no number.
    pub fn of(mut values: Vec<f64>, requests: usize) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        values.sort_unstable_by(f64::total_cmp);
        let percentiles = PERCENTILES.map(|p| {
            let needs = floor(p);
            let value_ms =
                statistics::percentile(&values, p).filter(|_| requests.min(values.len()) >= needs);
            let between_ms = match quantile(&values, p, ALPHA) {
                Some(Quantile::Known { lower, upper, .. }) if requests == values.len() => {
                    Some((lower, upper))
                }
                _ => None,
            };
            Percentile { p, value_ms, between_ms, needs }
        });
        Some(Self {
            n: values.len(),
            requests,
            min_ms: values[0],
            mean_ms: values.iter().sum::<f64>() / values.len() as f64,
            max_ms: values[values.len() - 1],
            percentiles: percentiles.to_vec(),
        })
    }

    /// Of one value a request.
    pub fn of_requests(values: Vec<f64>) -> Option<Self> {
        let requests = values.len();
        Self::of(values, requests)
    }

    /// A percentile of [`PERCENTILES`] if there are samples enough.
    pub fn at(&self, p: f64) -> Option<f64> {
        self.percentiles.iter().find(|found| found.p.total_cmp(&p).is_eq())?.value_ms
    }
}

impl std::fmt::Display for Percentile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.value_ms {
            Some(value) => write!(f, "{value:.2}"),
            None => write!(f, "n/a (needs {})", self.needs),
        }
    }
}

/// Independent samples below which no two-sided interval around the percentile exists: 6, 36, 72, 368 and 3,688 for p50, p90, p95,
/// p99 and p99.9. No percentile at all below 0 and above 100 has ever enough.
pub fn floor(p: f64) -> usize {
    samples_needed(p, ALPHA).map_or(usize::MAX, |needed| needed as usize)
}

/// The percentile `p` by nearest rank over all requests, with those that failed as infinitely slow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjusted {
    /// Reached after so many milliseconds.
    Ms(f64),
    /// The percentile falls on a request that failed.
    Never,
    /// Too few requests: so many are needed.
    Needs(usize),
}

/// [`Adjusted`] of the values of the requests that ended well and the number of those that did not.
///
/// Nearest rank (the value at place ceil(p n / 100)), since interpolation towards infinity is no number
/// (ai-dynamo/aiperf#825). Leaving the failed out makes an overloaded server look good (ai-dynamo/aiperf#688).
pub fn adjusted(values: &[f64], failed: usize, p: f64) -> Adjusted {
    let n = values.len() + failed;
    if n < floor(p) {
        return Adjusted::Needs(floor(p));
    }
    match with_failed(values, failed).and_then(|sorted| nearest_rank(&sorted, p)) {
        Some(value) if value.is_finite() => Adjusted::Ms(value),
        _ => Adjusted::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of two-sided floors at 95 %.
    #[test]
    fn floors_by_hand() {
        assert_eq!(PERCENTILES.map(floor), [6, 36, 72, 368, 3_688]);
        assert_eq!(floor(10.0), 36, "the other tail");
    }

    #[test]
    fn too_few_samples_are_no_percentile() {
        let of = |n: u32| Distribution::of_requests((1..=n).map(f64::from).collect()).unwrap();
        assert_eq!((of(5).at(50.0), of(6).at(50.0)), (None, Some(3.5)));
        assert_eq!((of(35).at(90.0), of(37).at(90.0)), (None, Some(33.4)));
        assert_eq!(of(6).percentiles[0].between_ms, Some((1.0, 6.0)), "0.5^6 <= 0.025 < 7 x 0.5^6");
        assert_eq!(of(5).percentiles[0].to_string(), "n/a (needs 6)");
        assert_eq!(of(6).percentiles[0].to_string(), "3.50");
        assert_eq!(Distribution::of(Vec::new(), 9), None);
        assert_eq!(Distribution::of(vec![1.0, f64::NAN], 2), None);
    }

    /// Sixty gaps of three requests are three independent samples.
    #[test]
    fn floors_count_requests() {
        assert_eq!(Distribution::of(vec![1.0; 60], 3).unwrap().at(50.0), None);
        let pooled = Distribution::of(vec![1.0; 60], 6).unwrap();
        assert_eq!((pooled.at(50.0), pooled.percentiles[0].between_ms), (Some(1.0), None));
    }

    /// 40 requests, p90 at rank 36: the 36th of 36 good ones, or the first that failed.
    #[test]
    fn the_failed_are_infinitely_slow() {
        let good: Vec<f64> = (1..=36).map(f64::from).collect();
        assert_eq!(adjusted(&good, 4, 90.0), Adjusted::Ms(36.0));
        assert_eq!(adjusted(&good[..35], 5, 90.0), Adjusted::Never);
        assert_eq!(adjusted(&good, 4, 50.0), Adjusted::Ms(20.0));
        assert_eq!(adjusted(&[], 40, 50.0), Adjusted::Never);
        assert_eq!(adjusted(&[], 5, 50.0), Adjusted::Needs(6));
    }
}
