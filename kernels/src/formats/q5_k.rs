//! Q5_K: 256 weights `unit * scale * code - minimum_unit * minimum` in 8 groups of 32, code of 5 bits.
//!
//! Bytes: unit, minimum unit (f16), 12 of packed scales and minimums, 32 of fifth bits, 128 of low bits. Low bits lie as
//! in Q4_K; bit `c` of fifth-bit byte `l` belongs to value `32 c + l`.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m256i;

use super::bits::half_at;
use super::k_blocks::{grounded, pairs, tile, tiled};
#[cfg(target_arch = "x86_64")]
use super::packed_scales::grounds_avx2;
use super::packed_scales::{self, MINIMUM_UNIT, UNIT, grounds, scales};
use super::{FormatSpec, Kernel};
use crate::activation::{Activation, ActivationRow};
#[cfg(target_arch = "x86_64")]
use crate::dot::avx2;
use crate::dot::lanes;
use crate::format::Format;

pub(super) const SPEC: FormatSpec = FormatSpec {
    format: Format::Q5K,
    name: "Q5_K",
    ggml_type: 13,
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

const BYTES: usize = 176;
type Block = [u8; BYTES];

const QS: usize = 48;
const QH: usize = 16;

fn codes_of(block: &Block) -> [i8; 256] {
    std::array::from_fn(|i| {
        let low = block[QS + i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4) & 15;
        let high = block[QH + i % 32] >> (i / 32) & 1;
        (low | high << 4) as i8
    })
}

fn put_code(block: &mut Block, i: usize, code: u8) {
    block[QS + i / 64 * 32 + i % 32] |= (code & 15) << (i % 64 / 32 * 4);
    block[QH + i % 32] |= (code >> 4) << (i / 32);
}

fn dequantize(bytes: &[u8], out: &mut [f32]) {
    packed_scales::dequantize(bytes, out, codes_of);
}

fn quantize(x: &[f32], bytes: &mut [u8]) {
    packed_scales::quantize(x, bytes, 31.0, put_code);
}

/// Per lane, the products of codes and activation, each times its group's scale.
fn products(block: &Block, y: &[i8; 256]) -> [i32; 8] {
    let scales = scales(block);
    lanes::scaled_sums(&codes_of(block), y, |chunk, _| i32::from(scales[chunk]))
}

/// The minimums of a block are one number, summed beside the lanes.
fn dot_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    let mut acc = [0.0; 8];
    let mut acc_minimums = 0.0_f32;
    for (block, y, sums, scale) in pairs(row, x) {
        let minimum_scale = -scale * half_at(block, MINIMUM_UNIT);
        let ground: i32 = grounds(block, sums).iter().sum();
        acc_minimums = minimum_scale.mul_add(ground as f32, acc_minimums);
        lanes::fma(&mut acc, scale * half_at(block, UNIT), products(block, y));
    }
    lanes::sum(acc) + acc_minimums
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn products_avx2(block: &Block, y: &[i8; 256]) -> __m256i {
    use std::arch::x86_64::{
        _mm256_and_si256, _mm256_or_si256, _mm256_set1_epi8, _mm256_slli_epi16, _mm256_srli_epi16,
    };
    let scales = avx2::Scales8::new(scales(block));
    let mut fifth = avx2::load_32(block, QH);
    let mut products = avx2::zero();
    for pair in 0..4 {
        let mut bits = avx2::load_32(block, QS + 32 * pair);
        for chunk in [2 * pair, 2 * pair + 1] {
            let low = _mm256_and_si256(bits, _mm256_set1_epi8(15));
            let high = _mm256_slli_epi16::<4>(_mm256_and_si256(fifth, _mm256_set1_epi8(1)));
            let codes = _mm256_or_si256(low, high);
            fifth = _mm256_srli_epi16::<1>(fifth);
            let y = avx2::load_codes(y, 32 * chunk);
            products = avx2::add_scaled(products, scales.chunk(chunk), codes, y);
            bits = _mm256_srli_epi16::<4>(bits);
        }
    }
    products
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn dot_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    use std::arch::x86_64::_mm256_setzero_ps;
    let mut acc = _mm256_setzero_ps();
    let mut acc_minimums = 0.0_f32;
    for (block, y, sums, scale) in pairs(row, x) {
        let [unit, minimum_unit] = avx2::halves_at(block, UNIT);
        let ground = avx2::total_four(grounds_avx2(block, sums));
        acc_minimums = (-scale * minimum_unit).mul_add(ground as f32, acc_minimums);
        acc = avx2::fma(acc, scale * unit, products_avx2(block, y));
    }
    avx2::sum(acc) + acc_minimums
}

fn tile_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    tile(row, x, |block: &Block, y, sums| {
        let units = [half_at(block, UNIT), half_at(block, MINIMUM_UNIT)];
        grounded(units, grounds(block, sums).iter().sum(), products(block, y).iter().sum())
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn tile_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    tile(row, x, |block: &Block, y, sums| {
        let grounds = avx2::total_four(grounds_avx2(block, sums));
        let products = avx2::total(products_avx2(block, y));
        grounded(avx2::halves_at(block, UNIT), grounds, products)
    })
}
