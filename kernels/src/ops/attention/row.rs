//! Attention of one query row, key by key, with the running maximum and sum of the online softmax
//! (Milakov and Gimelshein 2018) and values accumulated in half precision.

use half::f16;

use super::Rows;
use crate::dot_f16;
use crate::ops::Path;
use crate::ops::exp::LANES;
#[cfg(target_arch = "x86_64")]
use crate::ops::half_lanes::F16c;
use crate::ops::half_lanes::{HalfLanes, Software};
use crate::ops::path::on_both_paths;

/// Attends from one query to keys `0..positions`, and writes `query.len()` values.
///
/// The query is rounded to `f16`, each score is an `f16` dot product in `f32`, and each addition to
/// the output is rounded to `f16`: the order of ggml's decode path.
pub fn attend_row(
    path: Path,
    query: &[f32],
    keys: Rows<'_, f16>,
    values: Rows<'_, f16>,
    positions: usize,
    scale: f32,
    out: &mut [f32],
) {
    let query: Vec<f16> = query.iter().map(|&q| f16::from_f32(q)).collect();
    let mut sums = vec![f16::ZERO; out.len()];
    let mut maximum = f32::NEG_INFINITY;
    let mut total = 0.0_f32;
    for position in 0..positions {
        let score = dot_f16(keys.row(position), &query) * scale;
        let mut weight = 1.0;
        let mut decay = 1.0;
        if score > maximum {
            decay = (maximum - score).exp();
            maximum = score;
            scale_halves(path, &mut sums, decay);
        } else {
            weight = (score - maximum).exp();
        }
        add_scaled_halves(path, &mut sums, values.row(position), weight);
        total = total.mul_add(decay, weight);
    }
    let inverse = if total == 0.0 { 0.0 } else { 1.0 / total };
    for (out, sum) in out.iter_mut().zip(&sums) {
        *out = sum.to_f32() * inverse;
    }
}

on_both_paths! {
    /// `sums *= factor`, each product rounded to half precision.
    fn scale_halves(sums: &mut [f16], factor: f32) = scale_body::<Software>, scale_body::<F16c>;
}

on_both_paths! {
    /// `sums += row * factor`, fused, each result rounded to half precision.
    fn add_scaled_halves(sums: &mut [f16], row: &[f16], factor: f32) =
        add_body::<Software>, add_body::<F16c>;
}

#[inline(always)]
fn scale_body<H: HalfLanes>(sums: &mut [f16], factor: f32) {
    let (registers, tail) = sums.as_chunks_mut::<LANES>();
    for sums in registers {
        *sums = H::narrow(H::widen(*sums).map(|sum| sum * factor));
    }
    for sum in tail {
        *sum = f16::from_f32_const(sum.to_f32_const() * factor);
    }
}

#[inline(always)]
fn add_body<H: HalfLanes>(sums: &mut [f16], row: &[f16], factor: f32) {
    let (registers, tail) = sums.as_chunks_mut::<LANES>();
    let (rows, row_tail) = row.as_chunks::<LANES>();
    for (sums, row) in registers.iter_mut().zip(rows) {
        let mut lanes = H::widen(*sums);
        for (sum, x) in lanes.iter_mut().zip(H::widen(*row)) {
            *sum = x.mul_add(factor, *sum);
        }
        *sums = H::narrow(lanes);
    }
    for (sum, x) in tail.iter_mut().zip(row_tail) {
        *sum = f16::from_f32_const(x.to_f32_const().mul_add(factor, sum.to_f32_const()));
    }
}
