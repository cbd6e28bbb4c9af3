//! Many cells, one error rate: Holm for a family that gates, Benjamini-Hochberg for exploring.

/// The level at which each hypothesis is tested by Holm's step-down procedure, in the order of `p_values`: alpha / M for the
/// smallest, alpha / (M - 1) for the next, and from the first that is not rejected on, the level that it failed.
///
/// S. Holm, Scandinavian Journal of Statistics 6 (1979) 65-70. What is no number is never rejected.
pub fn holm_levels(p_values: &[f64], alpha: f64) -> Vec<f64> {
    let count = p_values.len();
    let mut levels = vec![alpha; count];
    let mut failed: Option<f64> = None;
    for (rank, index) in ascending(p_values).into_iter().enumerate() {
        let level = failed.unwrap_or(alpha / (count - rank) as f64);
        let is_rejected = p_values[index] <= level;
        if !is_rejected {
            failed = Some(level);
        }
        levels[index] = level;
    }
    levels
}

/// The one level of Benjamini and Hochberg's step-up procedure: k alpha / M for the largest k whose k-th smallest p-value reaches
/// it; alpha / M where none does. Intervals at this level have the false coverage rate alpha (Benjamini and Yekutieli, Journal of
/// the American Statistical Association 100 (2005) 71-81).
///
/// Y. Benjamini and Y. Hochberg, Journal of the Royal Statistical Society B 57 (1995) 289-300.
pub fn benjamini_hochberg_level(p_values: &[f64], alpha: f64) -> f64 {
    let count = p_values.len().max(1) as f64;
    let sorted = ascending(p_values).into_iter().map(|index| p_values[index]);
    let mut reached =
        sorted.enumerate().filter(|(rank, p)| *p <= (rank + 1) as f64 * alpha / count);
    reached.next_back().map_or(1.0, |(rank, _)| (rank + 1) as f64) * alpha / count
}

/// Indices by ascending value, NaN last.
fn ascending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| {
        let key = |index: usize| if values[index].is_nan() { f64::INFINITY } else { values[index] };
        key(*a).total_cmp(&key(*b))
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    /// The 15 p-values of Benjamini and Hochberg, section 3.2: theirs rejects the 4 smallest at 5 %, Bonferroni and Holm 3.
    const THEIRS: [f64; 15] = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
        0.5719, 0.6528, 0.7590, 1.0,
    ];

    #[test]
    fn rejections_of_the_paper() {
        let level = benjamini_hochberg_level(&THEIRS, 0.05);
        close(level, 4.0 * 0.05 / 15.0, 1e-15);
        assert_eq!(THEIRS.iter().filter(|p| **p <= level).count(), 4);
        let levels = holm_levels(&THEIRS, 0.05);
        assert_eq!(THEIRS.iter().zip(&levels).filter(|(p, level)| p <= level).count(), 3);
        close(levels[3], 0.05 / 12.0, 1e-15);
        close(levels[14], 0.05 / 12.0, 1e-15);
    }

    #[test]
    fn order_does_not_matter_and_no_number_is_not_rejected() {
        let levels = holm_levels(&[0.04, f64::NAN, 0.001], 0.05);
        close(levels[2], 0.05 / 3.0, 1e-15);
        close(levels[0], 0.025, 1e-15);
        close(levels[1], 0.025, 1e-15);
        close(benjamini_hochberg_level(&[f64::NAN, 0.9], 0.05), 0.025, 1e-15);
        assert!(holm_levels(&[], 0.05).is_empty());
    }
}
