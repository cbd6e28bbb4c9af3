//! Whether a series moved over time: the Theil-Sen slope with the Mann-Kendall test.
//!
//! P. K. Sen, Journal of the American Statistical Association 63 (1968) 1379-1389; M. G. Kendall, Rank Correlation Methods (1975),
//! chapters 4 and 5 for the exact distribution without ties and the variance with them.

use serde::{Deserialize, Serialize};

use super::distribution::normal_cdf;
use super::median;

/// Fewest points: with four even a monotone series has p = 1 / 12.
pub const FEWEST: usize = 4;
/// Up to so many points the distribution without ties is enumerated.
const EXACT: usize = 60;

/// How a series moved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Median of the slopes between every two points, in values per unit of time.
    pub slope: f64,
    /// The slope over the time from the first point to the last.
    pub over_series: f64,
    /// Two-sided p-value of "no trend".
    pub p: f64,
}

/// Of (time, value) points in order of time; `None` of fewer than [`FEWEST`], of no number, and of times that do not ascend.
pub fn drift(points: &[(f64, f64)]) -> Option<Drift> {
    let is_usable = points.iter().all(|(at, value)| at.is_finite() && value.is_finite())
        && points.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if points.len() < FEWEST || !is_usable {
        return None;
    }
    let mut slopes = Vec::new();
    let mut concordance = 0_i64;
    for (index, (at, value)) in points.iter().enumerate() {
        for (later, other) in &points[index + 1..] {
            slopes.push((other - value) / (later - at));
            concordance += i64::from(other > value) - i64::from(other < value);
        }
    }
    let slope = median(&slopes)?;
    let over_series = slope * (points[points.len() - 1].0 - points[0].0);
    let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    Some(Drift { slope, over_series, p: p_value(&values, concordance) })
}

fn p_value(values: &[f64], concordance: i64) -> f64 {
    let mut runs = values.to_vec();
    runs.sort_unstable_by(f64::total_cmp);
    let ties: Vec<f64> = runs.chunk_by(|a, b| a >= b).map(|run| run.len() as f64).collect();
    let has_ties = ties.len() < values.len();
    if !has_ties && values.len() <= EXACT {
        return exact(values.len(), concordance);
    }
    let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let variance = (term(values.len() as f64) - ties.into_iter().map(term).sum::<f64>()) / 18.0;
    let distance = (concordance.abs() as f64 - 1.0).max(0.0);
    if variance > 0.0 { 2.0 * (1.0 - normal_cdf(distance / variance.sqrt())) } else { 1.0 }
}

/// P(|S| >= |concordance|): S is the number of pairs less twice the number of inversions of a random permutation, whose
/// distribution grows by one uniform variable 0..k a point.
fn exact(n: usize, concordance: i64) -> f64 {
    let mut chance = vec![1.0];
    for points in 2..=n {
        let mut next = vec![0.0; chance.len() + points - 1];
        for (inversions, probability) in chance.iter().enumerate() {
            for more in 0..points {
                next[inversions + more] += probability / points as f64;
            }
        }
        chance = next;
    }
    let pairs = chance.len() as i64 - 1;
    let is_as_far = |inversions: usize| (pairs - 2 * inversions as i64).abs() >= concordance.abs();
    let tail: f64 = chance.iter().enumerate().filter(|(i, _)| is_as_far(*i)).map(|(_, p)| p).sum();
    tail.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    fn series(values: &[f64]) -> Vec<(f64, f64)> {
        values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect()
    }

    /// scipy 1.17.1: `stats.theilslopes(y, t).slope`, `stats.kendalltau(t, y, method='exact').pvalue`.
    #[test]
    fn trend_as_scipy_has_it() {
        let found = drift(&series(&[0.1, 0.3, 0.2, 0.6, 0.5, 0.9, 0.7, 1.2])).unwrap();
        close(found.slope, 0.15, 1e-12);
        close(found.over_series, 1.05, 1e-12);
        close(found.p, 0.005_505_952_380_952_381, 1e-12);
    }

    /// In Python: S = 33, variance with ties 121, `2 * norm.sf((33 - 1) / 11)`.
    #[test]
    fn ties_by_the_formula() {
        let found = drift(&series(&[1.0, 2.0, 2.0, 3.0, 3.0, 1.0, 4.0, 5.0, 5.0, 6.0])).unwrap();
        close(found.p, 0.003_624_814_385_206_084, 1e-9);
        close(drift(&series(&[1.0; 6])).unwrap().p, 1.0, 0.0);
    }

    #[test]
    fn no_number_gives_nothing() {
        assert_eq!(drift(&series(&[1.0, 2.0, 3.0])), None);
        assert_eq!(drift(&series(&[1.0, f64::NAN, 3.0, 4.0])), None);
        assert_eq!(drift(&[(0.0, 1.0), (0.0, 2.0), (1.0, 3.0), (2.0, 4.0)]), None);
    }
}
