//! The gated activation of Llama's feed-forward network: `silu(gate) * up`, with
//! `silu(x) = x / (1 + e^-x)` (Elfwing 2017; Shazeer 2020).

use super::exp::{Exp, LANES, registers};
#[cfg(target_arch = "x86_64")]
use super::half_lanes::F16c;
use super::half_lanes::Software;
use super::path::on_both_paths;

on_both_paths! {
    /// `out = silu(gate) * up`, all of one length. Whole registers of eight use the polynomial
    /// exponential, the tail the C library's, as ggml's AVX2 build does.
    pub fn silu_mul(gate: &[f32], up: &[f32], out: &mut [f32]) = body::<Software>, body::<F16c>;
}

#[inline(always)]
fn body<E: Exp>(gate: &[f32], up: &[f32], out: &mut [f32]) {
    let (gates, gate_tail) = registers(gate);
    let (ups, up_tail) = registers(up);
    let (outs, out_tail) = out.as_chunks_mut::<LANES>();
    for ((y, x), u) in outs.iter_mut().zip(gates).zip(ups) {
        let exp = E::exp(x.map(|x| 0.0 - x));
        for lane in 0..LANES {
            y[lane] = x[lane] / (1.0 + exp[lane]) * u[lane];
        }
    }
    for ((y, &x), &u) in out_tail.iter_mut().zip(gate_tail).zip(up_tail) {
        *y = silu(x) * u;
    }
}

/// `x / (1 + e^-x)` of one value, with the C library's exponential.
#[inline(always)]
pub fn silu(x: f32) -> f32 {
    x / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::silu_mul;
    use crate::ops::Path;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn close_to_f64_and_equal_on_both_paths(
            row in prop::collection::vec((-120.0f32..120.0, -4.0f32..4.0), 1..100),
        ) {
            let (gate, up): (Vec<_>, Vec<_>) = row.into_iter().unzip();
            let mut scalar = vec![0.0; gate.len()];
            let mut best = scalar.clone();
            silu_mul(Path::SCALAR, &gate, &up, &mut scalar);
            silu_mul(Path::detect(), &gate, &up, &mut best);
            for i in 0..gate.len() {
                let x = f64::from(gate[i]);
                let expected = x / (1.0 + (-x).exp()) * f64::from(up[i]);
                prop_assert_eq!(scalar[i].to_bits(), best[i].to_bits());
                prop_assert!((f64::from(best[i]) - expected).abs() <= 1e-6 * expected.abs() + 1e-35);
            }
        }
    }
}
