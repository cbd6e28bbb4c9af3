//! What the K formats share: walking a row, the packed six-bit scales of Q4_K and Q5_K, a plain way to choose scales.

use half::f16;

use super::bits::{range, reciprocal, signed_extreme};
use crate::activation::ActivationRow;

/// The eight scales and eight minimums of 12 bytes, four at a time. The first four of each lie in the low six bits of
/// bytes 0..4 and 4..8; the last four have their low halves in bytes 8..12 and their top two bits above the first four.
#[inline]
pub(super) fn unpack(packed: &[u8]) -> ([u8; 8], [u8; 8]) {
    const SIX: u32 = 0x3f3f_3f3f;
    const FOUR: u32 = 0x0f0f_0f0f;
    let word =
        |i: usize| u32::from_le_bytes([packed[i], packed[i + 1], packed[i + 2], packed[i + 3]]);
    let (first_scales, first_minimums, rest) = (word(0), word(4), word(8));
    let above = |first: u32| (first >> 6 & 0x0303_0303) << 4;
    let eight = |first: u32, last: u32| (u64::from(last) << 32 | u64::from(first)).to_le_bytes();
    (
        eight(first_scales & SIX, rest & FOUR | above(first_scales)),
        eight(first_minimums & SIX, rest >> 4 & FOUR | above(first_minimums)),
    )
}

/// Stores scales and minimums so that [`unpack`] reads them back.
pub(super) fn pack(packed: &mut [u8], scales: [u8; 8], minimums: [u8; 8]) {
    for j in 0..4 {
        packed[j] = (scales[j] & 63) | (scales[j + 4] >> 4) << 6;
        packed[j + 4] = (minimums[j] & 63) | (minimums[j + 4] >> 4) << 6;
        packed[j + 8] = (scales[j + 4] & 15) | (minimums[j + 4] & 15) << 4;
    }
}

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
