//! Q2_K: 256 weights `unit * scale * code - minimum_unit * minimum` in 16 groups of 16, code of 2 bits.
//!
//! Bytes: 16 of (minimum << 4 | scale), 64 of codes, unit and minimum unit (f16). Within each half of 128, byte `l` of 32
//! holds the codes of values `l`, `l + 32`, `l + 64` and `l + 96`, lowest bits first.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m256i;

use super::bits::{half_at, put_half};
use super::k_blocks::{Grounded, grounded, pairs, tile, tiled};
use super::{FormatSpec, Kernel};
use crate::activation::{Activation, ActivationRow};
#[cfg(target_arch = "x86_64")]
use crate::dot::avx2;
use crate::dot::lanes;
use crate::format::Format;

pub(super) const SPEC: FormatSpec = FormatSpec {
    format: Format::Q2K,
    name: "Q2_K",
    ggml_type: 10,
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

const BYTES: usize = 84;
type Block = [u8; BYTES];

const QS: usize = 16;
const UNIT: usize = 80;
const MINIMUM_UNIT: usize = 82;

fn codes_of(block: &Block) -> [i8; 256] {
    std::array::from_fn(|i| (block[QS + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3) as i8)
}

fn dequantize(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut::<256>().0) {
        let (unit, minimum_unit) = (half_at(block, UNIT), half_at(block, MINIMUM_UNIT));
        let codes = codes_of(block);
        for (i, value) in out.iter_mut().enumerate() {
            let factors = block[i / 16];
            let (scale, minimum) = (f32::from(factors & 15), f32::from(factors >> 4));
            *value = unit * scale * f32::from(codes[i]) - minimum_unit * minimum;
        }
    }
}

fn quantize(x: &[f32], bytes: &mut [u8]) {
    for (x, block) in x.as_chunks().0.iter().zip(bytes.as_chunks_mut::<BYTES>().0) {
        let groups = Grounded::<16>::choose(x, 3.0, 15.0);
        block.fill(0);
        for (g, byte) in block[..16].iter_mut().enumerate() {
            *byte = groups.minimums[g] << 4 | groups.scales[g];
        }
        put_half(block, UNIT, groups.unit);
        put_half(block, MINIMUM_UNIT, groups.minimum_unit);
        for i in 0..256 {
            block[QS + i / 128 * 32 + i % 32] |= groups.code(x, i, 3.0) << (i % 128 / 32 * 2);
        }
    }
}

/// Per lane, the products of codes and activation, each times its group's scale.
fn products(block: &Block, y: &[i8; 256]) -> [i32; 8] {
    let factor = |chunk: usize, lane: usize| i32::from(block[2 * chunk + lane / 4] & 15);
    lanes::scaled_sums(&codes_of(block), y, factor)
}

/// The activation's group sums times the minimums: lane `l` takes groups `2l` and `2l + 1`.
fn grounds(block: &Block, sums: &[i16; 16]) -> [i32; 8] {
    lanes::pair_sums(std::array::from_fn(|g| i32::from(block[g] >> 4)), sums)
}

fn dot_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    let mut acc = [0.0; 8];
    for (block, y, sums, scale) in pairs(row, x) {
        lanes::fma(&mut acc, -scale * half_at(block, MINIMUM_UNIT), grounds(block, sums));
        lanes::fma(&mut acc, scale * half_at(block, UNIT), products(block, y));
    }
    lanes::sum(acc)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn products_avx2(block: &Block, y: &[i8; 256]) -> __m256i {
    use std::arch::x86_64::{
        _mm_and_si128, _mm_set1_epi8, _mm256_and_si256, _mm256_set1_epi8, _mm256_srli_epi16,
    };
    let scales = _mm_and_si128(avx2::load_16(block, 0), _mm_set1_epi8(15));
    let scales = avx2::Scales16::new(scales);
    let mut products = avx2::zero();
    for half in 0..2 {
        let mut bits = avx2::load_32(block, QS + 32 * half);
        for chunk in 4 * half..4 * half + 4 {
            let codes = _mm256_and_si256(bits, _mm256_set1_epi8(3));
            let y = avx2::load_codes(y, 32 * chunk);
            products = avx2::add_scaled(products, scales.chunk(chunk), codes, y);
            bits = _mm256_srli_epi16::<2>(bits);
        }
    }
    products
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn grounds_avx2(block: &Block, sums: &[i16; 16]) -> __m256i {
    use std::arch::x86_64::{
        _mm_and_si128, _mm_set1_epi8, _mm_srli_epi16, _mm256_cvtepi8_epi16, _mm256_madd_epi16,
    };
    let minimums = _mm_srli_epi16::<4>(avx2::load_16(block, 0));
    let minimums = _mm256_cvtepi8_epi16(_mm_and_si128(minimums, _mm_set1_epi8(15)));
    _mm256_madd_epi16(minimums, avx2::load_group_sums(sums))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn dot_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    use std::arch::x86_64::_mm256_setzero_ps;
    let mut acc = _mm256_setzero_ps();
    for (block, y, sums, scale) in pairs(row, x) {
        let [unit, minimum_unit] = avx2::halves_at(block, UNIT);
        acc = avx2::fma(acc, -scale * minimum_unit, grounds_avx2(block, sums));
        acc = avx2::fma(acc, scale * unit, products_avx2(block, y));
    }
    avx2::sum(acc)
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
        let grounds = avx2::total(grounds_avx2(block, sums));
        let products = avx2::total(products_avx2(block, y));
        grounded(avx2::halves_at(block, UNIT), grounds, products)
    })
}
