//! What Q4_K and Q5_K share: the head of a block, with two units and packed six-bit scales and minimums of 8 groups of 32.
//!
//! Bytes: unit, minimum unit (f16), 12 of packed scales and minimums.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m128i;

use super::bits::{half_at, put_half};
use super::k_blocks::Grounded;
#[cfg(target_arch = "x86_64")]
use crate::dot::avx2;

pub(super) const UNIT: usize = 0;
pub(super) const MINIMUM_UNIT: usize = 2;
const SCALES: usize = 4;
const HEAD: usize = 16;

/// The eight scales and eight minimums of 12 bytes, four at a time. The first four of each lie in the low six bits of
/// bytes 0..4 and 4..8; the last four have their low halves in bytes 8..12 and their top two bits above the first four.
#[inline]
fn unpack(packed: &[u8]) -> ([u8; 8], [u8; 8]) {
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
fn pack(packed: &mut [u8], scales: [u8; 8], minimums: [u8; 8]) {
    for j in 0..4 {
        packed[j] = (scales[j] & 63) | (scales[j + 4] >> 4) << 6;
        packed[j + 4] = (minimums[j] & 63) | (minimums[j + 4] >> 4) << 6;
        packed[j + 8] = (scales[j + 4] & 15) | (minimums[j + 4] & 15) << 4;
    }
}

/// The scales of a block's groups.
#[inline]
pub(super) fn scales(block: &[u8]) -> [u8; 8] {
    unpack(&block[SCALES..HEAD]).0
}

/// The activation's group sums times the minimums, in four lanes: lane `l` takes groups `2l` and `2l + 1`, a quarter
/// of the block.
pub(super) fn grounds(block: &[u8], sums: &[i16; 16]) -> [i32; 4] {
    let (_, minimums) = unpack(&block[SCALES..HEAD]);
    let group = |g: usize| i32::from(minimums[g]) * i32::from(sums[2 * g] + sums[2 * g + 1]);
    std::array::from_fn(|lane| group(2 * lane) + group(2 * lane + 1))
}

/// [`grounds`] in a register.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn grounds_avx2(block: &[u8], sums: &[i16; 16]) -> __m128i {
    avx2::ground_sums(unpack(&block[SCALES..HEAD]).1, sums)
}

/// Blocks to values, given the codes of a block.
pub(super) fn dequantize<const BYTES: usize>(
    bytes: &[u8],
    out: &mut [f32],
    codes_of: fn(&[u8; BYTES]) -> [i8; 256],
) {
    for (block, out) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut::<256>().0) {
        let (unit, minimum_unit) = (half_at(block, UNIT), half_at(block, MINIMUM_UNIT));
        let ((scales, minimums), codes) = (unpack(&block[SCALES..HEAD]), codes_of(block));
        for (i, value) in out.iter_mut().enumerate() {
            let (scale, minimum) = (f32::from(scales[i / 32]), f32::from(minimums[i / 32]));
            *value = unit * scale * f32::from(codes[i]) - minimum_unit * minimum;
        }
    }
}

/// Values to blocks of codes up to `top_code`, each of which `put_code` stores in a block that holds no codes yet.
pub(super) fn quantize<const BYTES: usize>(
    x: &[f32],
    bytes: &mut [u8],
    top_code: f32,
    put_code: fn(&mut [u8; BYTES], usize, u8),
) {
    for (x, block) in x.as_chunks().0.iter().zip(bytes.as_chunks_mut::<BYTES>().0) {
        let groups = Grounded::<8>::choose(x, top_code, 63.0);
        block.fill(0);
        put_half(block, UNIT, groups.unit);
        put_half(block, MINIMUM_UNIT, groups.minimum_unit);
        pack(&mut block[SCALES..HEAD], groups.scales, groups.minimums);
        for i in 0..256 {
            put_code(block, i, groups.code(x, i, top_code));
        }
    }
}
