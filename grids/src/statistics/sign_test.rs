//! The sign test: how many pairs went one way. The least powerful and the least fooled; kept as a sanity check.

use super::distribution::binomial_cdf;

/// The two-sided exact p-value of "up is as likely as down"; zeros are left out. `None` of nothing else and of no number.
pub fn p_value(differences: &[f64]) -> Option<f64> {
    if differences.iter().any(|difference| !difference.is_finite()) {
        return None;
    }
    let up = differences.iter().filter(|difference| **difference > 0.0).count() as u64;
    let down = differences.iter().filter(|difference| **difference < 0.0).count() as u64;
    if up + down == 0 {
        return None;
    }
    Some((2.0 * binomial_cdf(up.min(down), up + down, 0.5)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    /// By hand: 2 (1 + 10) / 1024; 2 / 64, where two-sided 5 % first is possible.
    #[test]
    fn signs_by_hand() {
        let nine_of_ten = [1.0, 1.0, 1.0, 1.0, -0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0];
        close(p_value(&nine_of_ten).unwrap(), 22.0 / 1024.0, 1e-12);
        close(p_value(&[1.0; 6]).unwrap(), 2.0 / 64.0, 1e-12);
        assert_eq!((p_value(&[0.0]), p_value(&[f64::NAN])), (None, None));
    }
}
