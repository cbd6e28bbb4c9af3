//! What Q4_1 and Q5_1 share: 32 weights `scale * code + minimum`. Bytes: scale, minimum (f16), then the codes.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m256i;

use super::bits::half_at;
use crate::activation::ActivationRow;
#[cfg(target_arch = "x86_64")]
use crate::dot::avx2;
use crate::dot::lanes;

const SCALE: usize = 0;
const MINIMUM: usize = 2;

/// Blocks to values, given the codes of a block.
pub(super) fn dequantize<const BYTES: usize>(
    bytes: &[u8],
    out: &mut [f32],
    codes_of: fn(&[u8; BYTES]) -> [i8; 32],
) {
    for (block, out) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut::<32>().0) {
        let (scale, minimum) = (half_at(block, SCALE), half_at(block, MINIMUM));
        *out = codes_of(block).map(|code| f32::from(code) * scale + minimum);
    }
}

/// The dot product, given the codes of a block: the minimums are one number a block, summed beside the lanes.
pub(super) fn dot<const BYTES: usize>(
    row: &[u8],
    x: ActivationRow<'_>,
    codes_of: fn(&[u8; BYTES]) -> [i8; 32],
) -> f32 {
    let mut acc = [0.0; 8];
    let mut minimums = 0.0_f32;
    for (block, y, scale, sum) in pairs(row, x) {
        minimums = half_at(block, MINIMUM).mul_add(sum, minimums);
        lanes::fma(&mut acc, half_at(block, SCALE) * scale, lanes::quad_sums(&codes_of(block), y));
    }
    lanes::sum(acc) + minimums
}

/// [`dot`] in registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
pub(super) fn dot_avx2<const BYTES: usize>(
    row: &[u8],
    x: ActivationRow<'_>,
    codes_of: impl Fn(&[u8; BYTES]) -> __m256i,
) -> f32 {
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_set1_ps, _mm256_setzero_ps};
    let mut acc = _mm256_setzero_ps();
    let mut minimums = 0.0_f32;
    for (block, y, scale, sum) in pairs(row, x) {
        let [step, minimum] = avx2::halves_at(block, SCALE);
        minimums = minimum.mul_add(sum, minimums);
        let sums = avx2::quad_sums_unsigned(codes_of(block), avx2::load_codes(y, 0));
        acc = _mm256_fmadd_ps(_mm256_set1_ps(step * scale), sums, acc);
    }
    avx2::sum(acc) + minimums
}

/// The blocks of a row beside the activation's codes, scales and sums.
fn pairs<'a, const BYTES: usize>(
    row: &'a [u8],
    x: ActivationRow<'a>,
) -> impl Iterator<Item = (&'a [u8; BYTES], &'a [i8; 32], f32, f32)> {
    let blocks = row.as_chunks().0.iter().zip(x.codes.as_chunks().0);
    blocks
        .zip(x.scales.iter().zip(x.sums))
        .map(|((block, y), (scale, sum))| (block, y, *scale, *sum))
}
