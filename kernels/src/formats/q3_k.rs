//! Q3_K: 256 weights `unit * (scale - 32) * (code - 4)` in 16 groups of 16, code of 3 bits, scale of 6.
//!
//! Bytes: 32 of third bits, 64 of low bits, 12 of scales, unit (f16). Low bits lie as in Q2_K; bit `c` of third-bit byte `l`
//! belongs to value `32 c + l`. Scale bytes 0..8 hold the low halves of scales 0..8 and 8..16, bytes 8..12 the top bits.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m256i;

use super::bits::{half_at, put_half};
#[cfg(target_arch = "x86_64")]
use super::k_blocks::dot_centred_avx2;
use super::k_blocks::{Centred, dot_centred, tile, tiled};
use super::{FormatSpec, Kernel};
use crate::activation::{Activation, ActivationRow};
#[cfg(target_arch = "x86_64")]
use crate::dot::avx2;
use crate::dot::lanes;
use crate::format::Format;

pub(super) const SPEC: FormatSpec = FormatSpec {
    format: Format::Q3K,
    name: "Q3_K",
    ggml_type: 11,
    block_len: 256,
    block_bytes: BYTES,
    activation: Activation::Q8K,
    dequantize,
    quantize,
    dot: Kernel {
        scalar: dot_scalar,
        #[cfg(target_arch = "x86_64")]
        avx2: dot_avx2,
    },
    batch: Some(tiled(Kernel {
        scalar: tile_scalar,
        #[cfg(target_arch = "x86_64")]
        avx2: tile_avx2,
    })),
    repacked: None,
    panel: None,
};

const BYTES: usize = 110;
type Block = [u8; BYTES];

const QS: usize = 32;
const SCALES: usize = 96;
const UNIT: usize = 108;

fn weights(block: &Block) -> [i8; 256] {
    std::array::from_fn(|i| {
        let low = block[QS + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
        let high = block[i % 32] >> (i / 32) & 1;
        (low | high << 2) as i8 - 4
    })
}

/// The 16 signed scales, four at a time.
#[inline]
fn scales(block: &Block) -> [i8; 16] {
    let word = |i: usize| {
        let at = SCALES + 4 * i;
        u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
    };
    let (first, second, top) = (word(0), word(1), word(2));
    let four = |low: u32, top: u32| (low & 0x0f0f_0f0f) | (top & 0x0303_0303) << 4;
    let all = [
        four(first, top),
        four(second, top >> 2),
        four(first >> 4, top >> 4),
        four(second >> 4, top >> 6),
    ];
    let bytes: [u8; 16] = bytemuck::cast(all.map(u32::to_le));
    bytes.map(|scale| scale as i8 - 32)
}

fn dequantize(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut::<256>().0) {
        let (unit, scales, weights) = (half_at(block, UNIT), scales(block), weights(block));
        for (i, value) in out.iter_mut().enumerate() {
            *value = unit * f32::from(scales[i / 16]) * f32::from(weights[i]);
        }
    }
}

fn quantize(x: &[f32], bytes: &mut [u8]) {
    for (x, block) in x.as_chunks().0.iter().zip(bytes.as_chunks_mut::<BYTES>().0) {
        let groups = Centred::choose(x, -4.0, 31.0);
        block.fill(0);
        put_half(block, UNIT, groups.unit);
        for (g, scale) in groups.scales.iter().enumerate() {
            let scale = (scale + 32) as u8;
            block[SCALES + g % 8] |= (scale & 15) << (g / 8 * 4);
            block[SCALES + 8 + g % 4] |= (scale >> 4) << (g / 4 * 2);
        }
        for i in 0..256 {
            let code = (groups.code(x, i, -4.0) + 4) as u8;
            block[QS + i / 128 * 32 + i % 32] |= (code & 3) << (i % 128 / 32 * 2);
            block[i % 32] |= (code >> 2) << (i / 32);
        }
    }
}

/// Per lane, the products of weights and activation, each times its group's scale.
fn products(block: &Block, y: &[i8; 256]) -> [i32; 8] {
    let scales = scales(block);
    let factor = |chunk: usize, lane: usize| i32::from(scales[2 * chunk + lane / 4]);
    lanes::scaled_sums(&weights(block), y, factor)
}

fn dot_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    dot_centred(row, x, |block, y, _| (half_at(block, UNIT), products(block, y)))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn products_avx2(block: &Block, y: &[i8; 256]) -> __m256i {
    use std::arch::x86_64::{
        _mm256_add_epi32, _mm256_and_si256, _mm256_madd_epi16, _mm256_maddubs_epi16,
        _mm256_or_si256, _mm256_set1_epi8, _mm256_slli_epi16, _mm256_srli_epi16, _mm256_sub_epi16,
    };
    let scales = avx2::Scales16::new(avx2::load_scales(&scales(block)));
    let mut third = avx2::load_32(block, 0);
    let mut products = avx2::zero();
    for half in 0..2 {
        let mut bits = avx2::load_32(block, QS + 32 * half);
        for chunk in 4 * half..4 * half + 4 {
            let low = _mm256_and_si256(bits, _mm256_set1_epi8(3));
            let high = _mm256_slli_epi16::<2>(_mm256_and_si256(third, _mm256_set1_epi8(1)));
            let y = avx2::load_codes(y, 32 * chunk);
            // maddubs wants unsigned weights: multiply the code of 0..8, then take four times the activation off.
            let whole = _mm256_maddubs_epi16(_mm256_or_si256(low, high), y);
            let four = _mm256_maddubs_epi16(_mm256_set1_epi8(4), y);
            let sums = _mm256_madd_epi16(scales.chunk(chunk), _mm256_sub_epi16(whole, four));
            products = _mm256_add_epi32(products, sums);
            bits = _mm256_srli_epi16::<2>(bits);
            third = _mm256_srli_epi16::<1>(third);
        }
    }
    products
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn unit_avx2(block: &Block) -> f32 {
    avx2::halves_at(block, UNIT - 2)[1]
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn dot_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    dot_centred_avx2(row, x, |block, y, _| (unit_avx2(block), products_avx2(block, y)))
}

fn tile_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    tile(row, x, |block, y, _| half_at(block, UNIT) * products(block, y).iter().sum::<i32>() as f32)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn tile_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    tile(row, x, |block, y, _| unit_avx2(block) * avx2::total(products_avx2(block, y)) as f32)
}
