//! The share of values at or below a value, as steps, and what a table says of them.

use super::page::Cell;
use crate::number::digits;

/// Ranks that are drawn: a drawing is some hundred pixels high.
const MOST: usize = 1000;

/// The steps of values that ascend, the height from 0 to 1. Of very many only every so manieth rank is a step.
pub(super) fn steps(sorted: &[f64]) -> Vec<(f64, f64)> {
    let share = |rank: usize| rank as f64 / sorted.len() as f64;
    let every = sorted.len().div_ceil(MOST).max(1);
    let (mut points, mut below) = (Vec::new(), 0);
    for end in (every..sorted.len() + every).step_by(every).map(|end| end.min(sorted.len())) {
        let value = sorted[end - 1];
        points.extend([(value, share(below)), (value, share(end))]);
        below = end;
    }
    points
}

/// Percentiles that a table has, each with the samples below which no two-sided interval at 95 % exists around it: the least n at which
/// p^n + (1 - p)^n is at most 0.05, the same floors as of a leg's percentiles.
const PERCENTILES: [(f64, usize); 3] = [(50.0, 6), (90.0, 36), (99.0, 368)];

/// The heads of [`spread`].
pub(super) const HEADS: [&str; 5] = ["least#", "p50#", "p90#", "p99#", "largest#"];

/// The least, percentiles by linear interpolation at (n - 1) p, and the largest of values that ascend; `None` of nothing.
pub(super) fn spread(sorted: &[f64]) -> Option<[Cell; 5]> {
    let (least, largest) = (*sorted.first()?, *sorted.last()?);
    let percentile = |(percent, needs): (f64, usize)| {
        if sorted.len() < needs {
            return Cell::new(format!("n/a (needs {needs})"));
        }
        let place = (sorted.len() - 1) as f64 * percent / 100.0;
        let (below, above) = (place.floor() as usize, place.ceil() as usize);
        Cell::new(digits(sorted[below] + (sorted[above] - sorted[below]) * place.fract()))
    };
    let [p50, p90, p99] = PERCENTILES.map(percentile);
    Some([Cell::new(digits(least)), p50, p90, p99, Cell::new(digits(largest))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_a_value() {
        assert_eq!(steps(&[]), []);
        let of_two = [(1.0, 0.0), (1.0, 0.5), (3.0, 0.5), (3.0, 1.0)];
        assert_eq!(steps(&[1.0, 3.0]), of_two);
        let many: Vec<f64> = (1..=2_000_001).map(f64::from).collect();
        let drawn = steps(&many);
        assert!(drawn.len() <= 2 * MOST, "{}", drawn.len());
        assert_eq!(drawn.last(), Some(&(2_000_001.0, 1.0)));
        assert!(drawn.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
    }

    /// Of 1 to 101 the percentiles are 51, 91 and 100 by numpy.percentile, but p99 needs more.
    #[test]
    fn percentiles_need_samples_enough() {
        let texts = |values: &[f64]| spread(values).unwrap().map(|cell| cell.text);
        let many: Vec<f64> = (1..=101).map(f64::from).collect();
        assert_eq!(texts(&many), ["1", "51", "91", "n/a (needs 368)", "101"]);
        assert_eq!(texts(&many[..5])[1], "n/a (needs 6)");
        let more: Vec<f64> = (1..=401).map(f64::from).collect();
        assert_eq!(texts(&more)[3], "397");
        assert_eq!(spread(&[]), None);
    }
}
