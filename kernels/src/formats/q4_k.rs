//! Q4_K: 256 weights `unit * scale * code - minimum_unit * minimum` in 8 groups of 32, code of 4 bits.
//!
//! Bytes: unit, minimum unit (f16), 12 of packed scales and minimums, 128 of codes: byte `l` of each 32 holds value `l`
//! of a chunk in its low half and of the next chunk in its high half.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m256i;

use super::bits::half_at;
use super::k_blocks::{grounded, pairs, tile, tiled};
#[cfg(target_arch = "x86_64")]
use super::packed_scales::grounds_avx2;
use super::packed_scales::{self, MINIMUM_UNIT, UNIT, grounds, scales};
use super::{FormatSpec, Kernel, RepackedDot};
use crate::activation::{Activation, ActivationRow};
#[cfg(target_arch = "x86_64")]
use crate::dot::avx2;
use crate::dot::lanes;
use crate::format::Format;

pub(super) const SPEC: FormatSpec = FormatSpec {
    format: Format::Q4K,
    name: "Q4_K",
    ggml_type: 12,
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
    repacked: Some(RepackedDot {
        one: Kernel {
            scalar: repacked_scalar,
            #[cfg(target_arch = "x86_64")]
            avx2: repacked_avx2,
        },
        fours: Kernel {
            scalar: repacked_fours_scalar,
            #[cfg(target_arch = "x86_64")]
            avx2: repacked_fours_avx2,
        },
    }),
    panel: None,
};

const BYTES: usize = 144;
type Block = [u8; BYTES];

const QS: usize = 16;

fn codes_of(block: &Block) -> [i8; 256] {
    std::array::from_fn(|i| (block[QS + i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4) & 15) as i8)
}

fn put_code(block: &mut Block, i: usize, code: u8) {
    block[QS + i / 64 * 32 + i % 32] |= code << (i % 64 / 32 * 4);
}

fn dequantize(bytes: &[u8], out: &mut [f32]) {
    packed_scales::dequantize(bytes, out, codes_of);
}

fn quantize(x: &[f32], bytes: &mut [u8]) {
    packed_scales::quantize(x, bytes, 15.0, put_code);
}

/// Per lane, the products of codes and activation, each times its group's scale.
fn products(block: &Block, y: &[i8; 256]) -> [i32; 8] {
    let scales = scales(block);
    lanes::scaled_sums(&codes_of(block), y, |chunk, _| i32::from(scales[chunk]))
}

/// The sum of [`products`] over each quarter of the block.
fn quarters(block: &Block, y: &[i8; 256]) -> [i32; 4] {
    let scales = scales(block);
    let codes = codes_of(block);
    std::array::from_fn(|quarter| {
        let factor = |chunk, _| if chunk / 2 == quarter { i32::from(scales[chunk]) } else { 0 };
        lanes::scaled_sums(&codes, y, factor).iter().sum()
    })
}

/// The minimums keep four f32 lanes of their own.
fn dot_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    let mut acc = [0.0; 8];
    let mut acc_minimums = [0.0_f32; 4];
    for (block, y, sums, scale) in pairs(row, x) {
        let minimum_scale = -scale * half_at(block, MINIMUM_UNIT);
        for (lane, sum) in acc_minimums.iter_mut().zip(grounds(block, sums)) {
            *lane = minimum_scale.mul_add(sum as f32, *lane);
        }
        lanes::fma(&mut acc, scale * half_at(block, UNIT), products(block, y));
    }
    lanes::sum(acc) + lanes::sum_four(acc_minimums)
}

/// [`products`] of each quarter of the block.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn quarters_avx2(block: &Block, y: &[i8; 256]) -> [__m256i; 4] {
    use std::arch::x86_64::{_mm256_and_si256, _mm256_set1_epi8, _mm256_srli_epi16};
    let scales = avx2::Scales8::new(scales(block));
    let mut quarters = [avx2::zero(); 4];
    for (quarter, products) in quarters.iter_mut().enumerate() {
        let mut bits = avx2::load_32(block, QS + 32 * quarter);
        for chunk in [2 * quarter, 2 * quarter + 1] {
            let codes = _mm256_and_si256(bits, _mm256_set1_epi8(15));
            let y = avx2::load_codes(y, 32 * chunk);
            *products = avx2::add_scaled(*products, scales.chunk(chunk), codes, y);
            bits = _mm256_srli_epi16::<4>(bits);
        }
    }
    quarters
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
fn products_avx2(block: &Block, y: &[i8; 256]) -> __m256i {
    use std::arch::x86_64::_mm256_add_epi32;
    let [a, b, c, d] = quarters_avx2(block, y);
    _mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn dot_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    use std::arch::x86_64::{
        _mm_cvtepi32_ps, _mm_fmadd_ps, _mm_set1_ps, _mm_setzero_ps, _mm256_setzero_ps,
    };
    let mut acc = _mm256_setzero_ps();
    let mut acc_minimums = _mm_setzero_ps();
    for (block, y, sums, scale) in pairs(row, x) {
        let [unit, minimum_unit] = avx2::halves_at(block, UNIT);
        let grounds = _mm_cvtepi32_ps(grounds_avx2(block, sums));
        acc_minimums = _mm_fmadd_ps(_mm_set1_ps(-scale * minimum_unit), grounds, acc_minimums);
        acc = avx2::fma(acc, scale * unit, products_avx2(block, y));
    }
    avx2::sum(acc) + avx2::sum_four(acc_minimums)
}

fn tile_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    tile(row, x, |block: &Block, y, sums| {
        grounded(units(block), grounds(block, sums).iter().sum(), products(block, y).iter().sum())
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

/// The products and the grounds of a row, each of `N` numbers a block, summed apart. Inlined, as [`tile`] is.
#[expect(clippy::inline_always, reason = "compiled for the tier of its caller")]
#[inline(always)]
fn repacked<const N: usize>(
    row: &[u8],
    x: ActivationRow<'_>,
    parts: impl Fn(&Block, &[i8; 256], &[i16; 16]) -> ([f32; 2], [i32; N], [i32; N]),
) -> f32 {
    let mut acc = [0.0_f32; 2];
    for (block, y, sums, scale) in pairs(row, x) {
        let ([unit, minimum_unit], products, grounds) = parts(block, y, sums);
        for (products, ground) in products.into_iter().zip(grounds) {
            acc[0] = (unit * scale).mul_add(products as f32, acc[0]);
            acc[1] = (minimum_unit * scale).mul_add(ground as f32, acc[1]);
        }
    }
    acc[0] - acc[1]
}

fn units(block: &Block) -> [f32; 2] {
    [half_at(block, UNIT), half_at(block, MINIMUM_UNIT)]
}

/// Repacked, one activation row: one number a block.
fn repacked_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    repacked(row, x, |block, y, sums| {
        let (products, grounds) = (quarters(block, y), grounds(block, sums));
        (units(block), [products.iter().sum()], [grounds.iter().sum()])
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn repacked_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    repacked(row, x, |block, y, sums| {
        let products = avx2::total(products_avx2(block, y));
        let grounds = avx2::total_four(grounds_avx2(block, sums));
        (avx2::halves_at(block, UNIT), [products], [grounds])
    })
}

/// Repacked, four activation rows at once: one number a quarter of a block.
fn repacked_fours_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    repacked(row, x, |block, y, sums| (units(block), quarters(block, y), grounds(block, sums)))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn repacked_fours_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    repacked(row, x, |block, y, sums| {
        let [a, b, c, d] = quarters_avx2(block, y);
        let products = [avx2::total(a), avx2::total(b), avx2::total(c), avx2::total(d)];
        (avx2::halves_at(block, UNIT), products, avx2::four(grounds_avx2(block, sums)))
    })
}
