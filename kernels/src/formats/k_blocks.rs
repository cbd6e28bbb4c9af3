//! What the K formats share: walking a row, how the numbers of its blocks are added up, a plain way to choose scales.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m256i;

use half::f16;

use super::bits::{range, reciprocal, signed_extreme};
use super::{BatchDot, Kernel};
use crate::activation::ActivationRow;
#[cfg(target_arch = "x86_64")]
use crate::dot::avx2;
use crate::dot::lanes;

/// Groups of `scale * code - minimum`, scales and minimums rounded to multiples of two f16 units.
pub(super) struct Grounded<const GROUPS: usize> {
    pub(super) unit: f32,
    pub(super) minimum_unit: f32,
    pub(super) scales: [u8; GROUPS],
    pub(super) minimums: [u8; GROUPS],
}

impl<const GROUPS: usize> Grounded<GROUPS> {
    /// Lets each group span its own range with codes up to `top_code`; factors are at most `top_scale`.
    pub(super) fn choose(x: &[f32; 256], top_code: f32, top_scale: f32) -> Self {
        let group = |g: usize| &x[g * (256 / GROUPS)..(g + 1) * (256 / GROUPS)];
        let floors: [f32; GROUPS] = std::array::from_fn(|g| -range(group(g)).0.min(0.0));
        let steps: [f32; GROUPS] =
            std::array::from_fn(|g| (range(group(g)).1.max(0.0) + floors[g]) / top_code);
        let unit_of = |all: &[f32; GROUPS]| {
            f16::from_f32(all.iter().fold(0.0, |a: f32, v| a.max(*v)) / top_scale).to_f32()
        };
        let (unit, minimum_unit) = (unit_of(&steps), unit_of(&floors));
        let factor = |v: f32, unit: f32| (v * reciprocal(unit)).round().clamp(0.0, top_scale) as u8;
        Grounded {
            unit,
            minimum_unit,
            scales: steps.map(|v| factor(v, unit)),
            minimums: floors.map(|v| factor(v, minimum_unit)),
        }
    }

    /// The code of value `i` of the block.
    pub(super) fn code(&self, x: &[f32; 256], i: usize, top_code: f32) -> u8 {
        let g = i / (256 / GROUPS);
        let floor = self.minimum_unit * f32::from(self.minimums[g]);
        let inverse = reciprocal(self.unit * f32::from(self.scales[g]));
        ((x[i] + floor) * inverse).round().clamp(0.0, top_code) as u8
    }
}

/// 16 groups of `scale * code`, scales rounded to multiples of one f16 unit.
pub(super) struct Centred {
    pub(super) unit: f32,
    pub(super) scales: [i8; 16],
}

impl Centred {
    /// Lets each group's extreme take the code `lowest` (negative); factors lie within `-top_scale ..= top_scale`.
    pub(super) fn choose(x: &[f32; 256], lowest: f32, top_scale: f32) -> Self {
        let steps: [f32; 16] =
            std::array::from_fn(|g| signed_extreme(&x[g * 16..(g + 1) * 16]) / lowest);
        let largest = steps.iter().fold(0.0, |a: f32, v| a.max(v.abs()));
        let unit = f16::from_f32(largest / top_scale).to_f32();
        let inverse = reciprocal(unit);
        let scales = steps.map(|v| (v * inverse).round().clamp(-top_scale, top_scale) as i8);
        Centred { unit, scales }
    }

    /// The signed code of value `i` of the block, from `lowest` to `-lowest - 1`.
    pub(super) fn code(&self, x: &[f32; 256], i: usize, lowest: f32) -> i8 {
        let inverse = reciprocal(self.unit * f32::from(self.scales[i / 16]));
        (x[i] * inverse).round().clamp(lowest, -lowest - 1.0) as i8
    }
}

/// The blocks of a row beside the activation's codes, sums of codes and scales.
pub(super) fn pairs<'a, const BYTES: usize>(
    row: &'a [u8],
    x: ActivationRow<'a>,
) -> impl Iterator<Item = (&'a [u8; BYTES], &'a [i8; 256], &'a [i16; 16], f32)> {
    let blocks = row.as_chunks().0.iter().zip(x.codes.as_chunks().0);
    blocks
        .zip(x.group_sums.as_chunks().0.iter().zip(x.scales))
        .map(|((block, y), (sums, scale))| (block, y, sums, *scale))
}

/// llama.cpp's order for many activation rows: one number a block, see [`tile`].
pub(super) const fn tiled(kernel: Kernel) -> BatchDot {
    BatchDot { rows_from: 8, rows_multiple: 1, cols_multiple: 256, kernel }
}

/// The numbers of the blocks, each times the activation's scale. Inlined, so that it is compiled for the tier of its caller.
#[expect(clippy::inline_always, reason = "compiled for the tier of its caller")]
#[inline(always)]
pub(super) fn tile<const BYTES: usize>(
    row: &[u8],
    x: ActivationRow<'_>,
    number: impl Fn(&[u8; BYTES], &[i8; 256], &[i16; 16]) -> f32,
) -> f32 {
    let mut acc = 0.0_f32;
    for (block, y, sums, scale) in pairs(row, x) {
        acc = number(block, y, sums).mul_add(scale, acc);
    }
    acc
}

/// The number of a block with minimums: `units` are those of its scales and of its minimums, `grounds` the minimums times the
/// activation's group sums.
#[expect(clippy::inline_always, reason = "compiled for the tier of its caller")]
#[inline(always)]
pub(super) fn grounded(units: [f32; 2], grounds: i32, products: i32) -> f32 {
    (-units[1]).mul_add(grounds as f32, units[0] * products as f32)
}

/// The lanes of the blocks of a format without minimums: `parts` gives a block's unit and the sums of its lanes.
pub(super) fn dot_centred<const BYTES: usize>(
    row: &[u8],
    x: ActivationRow<'_>,
    parts: impl Fn(&[u8; BYTES], &[i8; 256], &[i16; 16]) -> (f32, [i32; 8]),
) -> f32 {
    let mut acc = [0.0; 8];
    for (block, y, sums, scale) in pairs(row, x) {
        let (unit, products) = parts(block, y, sums);
        lanes::fma(&mut acc, scale * unit, products);
    }
    lanes::sum(acc)
}

/// [`dot_centred`] in registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn dot_centred_avx2<const BYTES: usize>(
    row: &[u8],
    x: ActivationRow<'_>,
    parts: impl Fn(&[u8; BYTES], &[i8; 256], &[i16; 16]) -> (f32, __m256i),
) -> f32 {
    use std::arch::x86_64::_mm256_setzero_ps;
    let mut acc = _mm256_setzero_ps();
    for (block, y, sums, scale) in pairs(row, x) {
        let (unit, products) = parts(block, y, sums);
        acc = avx2::fma(acc, scale * unit, products);
    }
    avx2::sum(acc)
}
