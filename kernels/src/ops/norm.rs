//! Root mean square normalisation, `y = x / sqrt(mean(x^2) + eps) * w` (Zhang and Sennrich 2019).

use super::path::on_both_paths;

on_both_paths! {
    /// Normalises one row. Squares are rounded to `f32` and summed in `f64`, first to last; then
    /// `y = (x * scale) * w`, both roundings in `f32`: the order of ggml's fused kernel.
    ///
    /// `x`, `weight` and `out` have the row's width.
    pub fn rms_norm(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) = body, body;
}

#[inline(always)]
fn body(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let scale = rms_scale(x, eps);
    for ((y, &x), &w) in out.iter_mut().zip(x).zip(weight) {
        *y = x * scale * w;
    }
}

/// `1 / sqrt(mean(x^2) + eps)` of one row.
#[inline(always)]
fn rms_scale(x: &[f32], eps: f32) -> f32 {
    let mut sum = 0.0_f64;
    for &x in x {
        sum += f64::from(x * x);
    }
    let mean = (sum / x.len() as f64) as f32;
    1.0 / (mean + eps).sqrt()
}

#[cfg(test)]
mod tests {
    use super::rms_norm;
    use crate::ops::Path;
    use proptest::prelude::*;

    fn reference(x: &[f32], w: &[f32], eps: f64) -> Vec<f64> {
        let mean = x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / x.len() as f64;
        let scale = 1.0 / (mean + eps).sqrt();
        x.iter().zip(w).map(|(&x, &w)| f64::from(x) * scale * f64::from(w)).collect()
    }

    proptest! {
        #[test]
        fn close_to_f64_and_equal_on_both_paths(
            row in prop::collection::vec((-8.0f32..8.0, -2.0f32..2.0), 1..200),
        ) {
            let (x, w): (Vec<_>, Vec<_>) = row.into_iter().unzip();
            let mut scalar = vec![0.0; x.len()];
            let mut best = scalar.clone();
            rms_norm(Path::SCALAR, &x, &w, 1e-5, &mut scalar);
            rms_norm(Path::detect(), &x, &w, 1e-5, &mut best);
            for ((a, b), r) in scalar.iter().zip(&best).zip(reference(&x, &w, 1e-5)) {
                prop_assert_eq!(a.to_bits(), b.to_bits());
                prop_assert!((f64::from(*a) - r).abs() <= 1e-6 * r.abs() + 1e-12);
            }
        }
    }
}
