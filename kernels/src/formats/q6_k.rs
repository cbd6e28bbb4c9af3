//! Q6_K: 256 weights `unit * scale * (code - 32)` in 16 groups of 16, code of 6 bits, scale of 8 (signed).
//!
//! Bytes: 128 of low bits, 64 of high bits, 16 of scales, unit (f16). Within each half of 128 values: low byte `l` of 64
//! holds value `l` in its low half and value `l + 64` in its high half; high byte `l` of 32 holds the top two bits of
//! values `l`, `l + 32`, `l + 64` and `l + 96`, lowest bits first.

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
    format: Format::Q6K,
    name: "Q6_K",
    ggml_type: 14,
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

const BYTES: usize = 210;
type Block = [u8; BYTES];

const QH: usize = 128;
const SCALES: usize = 192;
const UNIT: usize = 208;

/// Where value `i` keeps its low bits and its high bits: byte and shift of each.
fn places(i: usize) -> [(usize, usize); 2] {
    let (half, within) = (i / 128, i % 128);
    [(half * 64 + within % 64, within / 64 * 4), (QH + half * 32 + within % 32, within / 32 * 2)]
}

/// The codes of 0..64.
fn codes_of(block: &Block) -> [i8; 256] {
    std::array::from_fn(|i| {
        let [(low, low_shift), (high, high_shift)] = places(i);
        (block[low] >> low_shift & 15 | (block[high] >> high_shift & 3) << 4) as i8
    })
}

fn scale_at(block: &Block, group: usize) -> i8 {
    block[SCALES + group] as i8
}

fn dequantize(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut::<256>().0) {
        let (unit, codes) = (half_at(block, UNIT), codes_of(block));
        for (i, value) in out.iter_mut().enumerate() {
            *value = unit * f32::from(scale_at(block, i / 16)) * f32::from(codes[i] - 32);
        }
    }
}

fn quantize(x: &[f32], bytes: &mut [u8]) {
    for (x, block) in x.as_chunks().0.iter().zip(bytes.as_chunks_mut::<BYTES>().0) {
        let groups = Centred::choose(x, -32.0, 127.0);
        block.fill(0);
        put_half(block, UNIT, groups.unit);
        for (byte, scale) in block[SCALES..].iter_mut().zip(groups.scales) {
            *byte = scale as u8;
        }
        for i in 0..256 {
            let code = (groups.code(x, i, -32.0) + 32) as u8;
            let [(low, low_shift), (high, high_shift)] = places(i);
            block[low] |= (code & 15) << low_shift;
            block[high] |= (code >> 4) << high_shift;
        }
    }
}

/// The products with the codes of 0..64, less 32 times the scaled sums of the activation's groups. The two parts do not
/// share lanes (a group's correction goes to one lane), and that decides the rounding of each lane.
fn products(block: &Block, y: &[i8; 256], sums: &[i16; 16]) -> [i32; 8] {
    let factor = |chunk: usize, lane: usize| i32::from(scale_at(block, 2 * chunk + lane / 4));
    let mut products = lanes::scaled_sums(&codes_of(block), y, factor);
    let scales = std::array::from_fn(|g| i32::from(scale_at(block, g)));
    for (product, offset) in products.iter_mut().zip(lanes::pair_sums(scales, sums)) {
        *product -= 32 * offset;
    }
    products
}

fn dot_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    dot_centred(row, x, |block, y, sums| (half_at(block, UNIT), products(block, y, sums)))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn products_avx2(block: &Block, y: &[i8; 256], sums: &[i16; 16]) -> __m256i {
    use std::arch::x86_64::{
        _mm256_and_si256, _mm256_cvtepi8_epi16, _mm256_madd_epi16, _mm256_or_si256,
        _mm256_set1_epi8, _mm256_slli_epi16, _mm256_slli_epi32, _mm256_srli_epi16,
        _mm256_sub_epi32,
    };
    let scales = avx2::load_16(block, SCALES);
    let wide = _mm256_cvtepi8_epi16(scales);
    let offsets = _mm256_madd_epi16(wide, avx2::load_group_sums(sums));
    let scales = avx2::Scales16::new(scales);
    let mut products = avx2::zero();
    for half in 0..2 {
        let mut high_bits = avx2::load_32(block, QH + 32 * half);
        let low_bits = [avx2::load_32(block, 64 * half), avx2::load_32(block, 64 * half + 32)];
        for part in 0..4 {
            let low = low_bits[part % 2];
            let low = if part < 2 { low } else { _mm256_srli_epi16::<4>(low) };
            let low = _mm256_and_si256(low, _mm256_set1_epi8(15));
            let high = _mm256_and_si256(high_bits, _mm256_set1_epi8(3));
            let codes = _mm256_or_si256(low, _mm256_slli_epi16::<4>(high));
            let chunk = 4 * half + part;
            let y = avx2::load_codes(y, 32 * chunk);
            products = avx2::add_scaled(products, scales.chunk(chunk), codes, y);
            high_bits = _mm256_srli_epi16::<2>(high_bits);
        }
    }
    _mm256_sub_epi32(products, _mm256_slli_epi32::<5>(offsets))
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
    dot_centred_avx2(row, x, |block, y, sums| (unit_avx2(block), products_avx2(block, y, sums)))
}

fn tile_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    tile(row, x, |block, y, sums| {
        half_at(block, UNIT) * products(block, y, sums).iter().sum::<i32>() as f32
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn tile_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    tile(row, x, |block, y, sums| {
        unit_avx2(block) * avx2::total(products_avx2(block, y, sums)) as f32
    })
}
