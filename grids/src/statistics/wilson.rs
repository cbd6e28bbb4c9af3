//! Wilson's interval of a share: E. B. Wilson, Journal of the American Statistical Association 22 (1927) 209-212.

use super::distribution::normal_quantile;

/// Bounds of the probability behind `successes` of `trials` that miss with probability `alpha`; `None` of no trials or of more
/// successes than trials.
pub fn interval(successes: u64, trials: u64, alpha: f64) -> Option<(f64, f64)> {
    if trials == 0 || successes > trials {
        return None;
    }
    let n = trials as f64;
    let share = successes as f64 / n;
    let z = normal_quantile(1.0 - alpha / 2.0);
    let middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    Some(((middle - half).max(0.0), (middle + half).min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    /// R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    #[test]
    fn table_of_newcombe() {
        for (of, trials, lower, upper) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let found = interval(of, trials, 0.05).unwrap();
            close(found.0, lower, 5e-5);
            close(found.1, upper, 5e-5);
        }
        assert_eq!((interval(0, 0, 0.05), interval(2, 1, 0.05)), (None, None));
    }
}
