//! Attention of up to [`TILE`] query rows at once, in `f32`: tiles of scores, the online softmax over
//! whole tiles, and two small matrix products whose sums run strictly first to last.

use half::f16;

use super::{Rows, TILE};
use crate::ops::exp::{Exp, LANES, sum_lanes};
#[cfg(target_arch = "x86_64")]
use crate::ops::half_lanes::F16c;
use crate::ops::half_lanes::{HalfLanes, Software};
use crate::ops::path::on_both_paths;

/// Buffers of one tile, kept between calls.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Query rows, `[rows][dim]`.
    queries: Vec<f32>,
    /// Keys, transposed: `[dim][TILE]`.
    keys: Vec<f32>,
    /// Values, `[TILE][dim]`.
    values: Vec<f32>,
    /// Scores, then weights, `[rows][TILE]`.
    scores: Vec<f32>,
}

on_both_paths! {
    /// Attends from `out.len() / dim` query rows, at most [`TILE`], to the keys at and before each: row
    /// `r` stands at position `first + r`. Writes `[rows][dim]`.
    ///
    /// Scores and sums are `f32`, with ggml's polynomial exponential: the order of its prompt path.
    pub fn attend_tile(
        queries: Rows<'_, f32>,
        first: usize,
        keys: Rows<'_, f16>,
        values: Rows<'_, f16>,
        scale: f32,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) = body::<Software>, body::<F16c>;
}

#[inline(always)]
fn body<H: HalfLanes + Exp>(
    queries: Rows<'_, f32>,
    first: usize,
    keys: Rows<'_, f16>,
    values: Rows<'_, f16>,
    scale: f32,
    scratch: &mut Scratch,
    out: &mut [f32],
) {
    let dim = queries.width();
    let rows = out.len() / dim;
    scratch.resize(rows, dim);
    for (row, copy) in scratch.queries.chunks_exact_mut(dim).enumerate() {
        copy.copy_from_slice(queries.row(row));
    }
    let mut maxima = [f32::NEG_INFINITY; TILE];
    let mut totals = [0.0_f32; TILE];
    out.fill(0.0);
    let positions = first + rows;
    for start in (0..positions).step_by(TILE) {
        let count = TILE.min(positions - start);
        scratch.pack::<H>(keys, values, start, count);
        scratch.scores.fill(0.0);
        let Scratch { queries, keys, values, scores } = &mut *scratch;
        multiply_add(scores, queries, keys, [rows, dim, TILE]);
        for (row, scores) in scores.chunks_exact_mut(TILE).enumerate() {
            let visible = (first + row + 1).saturating_sub(start).min(TILE);
            let sums = &mut out[row * dim..][..dim];
            weigh::<H>(scores, visible, scale, &mut maxima[row], &mut totals[row], sums);
        }
        multiply_add(out, scores, values, [rows, TILE, dim]);
    }
    for (sums, total) in out.chunks_exact_mut(dim).zip(totals) {
        let inverse = if total == 0.0 { 0.0 } else { 1.0 / total };
        for sum in sums {
            *sum *= inverse;
        }
    }
}

/// Turns one row's scores into weights relative to the row's maximum so far. Only the first `visible`
/// keys count; the others get weight zero. `sums` is scaled when the maximum rises.
#[inline(always)]
fn weigh<E: Exp>(
    scores: &mut [f32],
    visible: usize,
    scale: f32,
    maximum: &mut f32,
    total: &mut f32,
    sums: &mut [f32],
) {
    if visible == 0 {
        scores.fill(0.0);
        return;
    }
    for score in scores.iter_mut() {
        *score *= scale;
    }
    scores[visible..].fill(f32::NEG_INFINITY);
    let highest = scores.iter().fold(*maximum, |high, &score| high.max(score));
    if highest > *maximum {
        let decay = (*maximum - highest).exp();
        for sum in sums {
            *sum *= decay;
        }
        *total *= decay;
    }
    *maximum = highest;
    let mut sum = 0.0_f64;
    for lanes in scores.as_chunks_mut::<LANES>().0 {
        *lanes = E::exp(lanes.map(|score| score - highest));
        sum += f64::from(sum_lanes(*lanes));
    }
    *total = (f64::from(*total) + sum) as f32;
}

impl Scratch {
    #[inline(always)]
    fn resize(&mut self, rows: usize, dim: usize) {
        self.queries.resize(rows * dim, 0.0);
        self.scores.resize(rows * TILE, 0.0);
        self.keys.resize(dim * TILE, 0.0);
        self.values.resize(TILE * dim, 0.0);
    }

    /// Widens `count` keys and values from `start` on; what is beyond them stays finite and gets no weight.
    #[inline(always)]
    fn pack<H: HalfLanes>(
        &mut self,
        keys: Rows<'_, f16>,
        values: Rows<'_, f16>,
        start: usize,
        count: usize,
    ) {
        let dim = keys.width();
        for t in 0..count {
            widen_row::<H>(values.row(start + t), &mut self.values[t * dim..][..dim]);
            for (d, key) in keys.row(start + t).chunks(LANES).enumerate() {
                let mut lanes = [f16::ZERO; LANES];
                lanes[..key.len()].copy_from_slice(key);
                for (i, value) in H::widen(lanes).into_iter().take(key.len()).enumerate() {
                    self.keys[(d * LANES + i) * TILE + t] = value;
                }
            }
        }
    }
}

#[inline(always)]
fn widen_row<H: HalfLanes>(halves: &[f16], out: &mut [f32]) {
    let (registers, tail) = halves.as_chunks::<LANES>();
    let (outs, out_tail) = out.as_chunks_mut::<LANES>();
    for (out, halves) in outs.iter_mut().zip(registers) {
        *out = H::widen(*halves);
    }
    for (out, half) in out_tail.iter_mut().zip(tail) {
        *out = half.to_f32_const();
    }
}

/// Rows and registers of the block of `c` that is held at once: 12 of AVX2's 16 registers.
const BLOCK_ROWS: usize = 6;
const BLOCK_REGISTERS: usize = 2;

/// `c += a b` with `[m, k, n]`: every element of `c` takes its `k` products first to last, each fused.
#[inline(always)]
fn multiply_add(c: &mut [f32], a: &[f32], b: &[f32], [m, k, n]: [usize; 3]) {
    let mut row = 0;
    while row < m {
        let rows = if m - row >= BLOCK_ROWS { BLOCK_ROWS } else { 1 };
        let (c, a) = (&mut c[row * n..], &a[row * k..]);
        let mut column = 0;
        while n - column >= LANES {
            let registers = if n - column >= BLOCK_REGISTERS * LANES { BLOCK_REGISTERS } else { 1 };
            match (rows, registers) {
                (1, 1) => block::<1, 1>(c, a, b, [k, n, column]),
                (1, _) => block::<1, BLOCK_REGISTERS>(c, a, b, [k, n, column]),
                (_, 1) => block::<BLOCK_ROWS, 1>(c, a, b, [k, n, column]),
                _ => block::<BLOCK_ROWS, BLOCK_REGISTERS>(c, a, b, [k, n, column]),
            }
            column += registers * LANES;
        }
        for column in column..n {
            for row in 0..rows {
                let c = &mut c[row * n + column];
                for i in 0..k {
                    *c = b[i * n + column].mul_add(a[row * k + i], *c);
                }
            }
        }
        row += rows;
    }
}

#[inline(always)]
fn block<const R: usize, const V: usize>(
    c: &mut [f32],
    a: &[f32],
    b: &[f32],
    [k, n, column]: [usize; 3],
) {
    let mut sums = [[[0.0_f32; LANES]; V]; R];
    for (row, sums) in sums.iter_mut().enumerate() {
        for (v, lanes) in sums.iter_mut().enumerate() {
            lanes.copy_from_slice(&c[row * n + column + v * LANES..][..LANES]);
        }
    }
    let rows: [&[f32]; R] = std::array::from_fn(|row| &a[row * k..][..k]);
    for i in 0..k {
        let b = &b[i * n + column..][..V * LANES];
        for (row, sums) in rows.iter().zip(sums.iter_mut()) {
            let factor = row[i];
            for (v, lanes) in sums.iter_mut().enumerate() {
                for (lane, sum) in lanes.iter_mut().enumerate() {
                    *sum = b[v * LANES + lane].mul_add(factor, *sum);
                }
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        for (v, lanes) in sums.iter().enumerate() {
            c[row * n + column + v * LANES..][..LANES].copy_from_slice(lanes);
        }
    }
}
