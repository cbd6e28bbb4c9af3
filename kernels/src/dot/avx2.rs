//! The AVX2+FMA+F16C vocabulary of the block formats, and the dense dot products.
//!
//! Functions here are safe to call from one another; entering from plain code needs `unsafe` and a detected tier, which
//! happens in `Dot::call` and in the two public dense dot products. Register names: `x` weights, `y` activation codes.

use std::arch::x86_64::{
    __m128, __m128i, __m256, __m256i, _mm_add_epi32, _mm_add_ps, _mm_add_ss, _mm_cvtepu8_epi16,
    _mm_cvtph_ps, _mm_cvtsi32_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si32, _mm_cvtss_f32,
    _mm_hadd_epi16, _mm_hadd_epi32, _mm_hadd_ps, _mm_loadu_si128, _mm_madd_epi16, _mm_movehdup_ps,
    _mm_movehl_ps, _mm_set1_epi16, _mm_storeu_si128, _mm256_add_epi32, _mm256_add_ps,
    _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_castps256_ps128, _mm256_castsi256_ps,
    _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_cvtepi8_epi16, _mm256_cvtepi32_ps,
    _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_extractf128_ps, _mm256_extracti128_si256,
    _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16,
    _mm256_mul_ps, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set_epi64x, _mm256_set_m128i,
    _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_set1_ps,
    _mm256_setr_epi32, _mm256_setzero_ps, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_sign_epi8, _mm256_slli_epi32, _mm256_srlv_epi32, _mm256_storeu_si256,
};

use super::dense::{bf16_tail, f16_tail, f32_tail};
use crate::activation::ActivationRow;

/// 32 bytes at byte `offset` of a block.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn load_32(block: &[u8], offset: usize) -> __m256i {
    let bytes = &block[offset..offset + 32];
    // SAFETY: `bytes` is 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// 16 bytes at byte `offset` of a block.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn load_16(block: &[u8], offset: usize) -> __m128i {
    let bytes = &block[offset..offset + 16];
    // SAFETY: `bytes` is 16 readable bytes; the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// Writes 32 bytes at byte `offset`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn store_32(bytes: &mut [u8], offset: usize, x: __m256i) {
    let bytes = &mut bytes[offset..offset + 32];
    // SAFETY: `bytes` is 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), x) };
}

/// 32 activation codes from code `offset`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn load_codes(codes: &[i8], offset: usize) -> __m256i {
    let codes = &codes[offset..offset + 32];
    // SAFETY: `codes` is 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) }
}

/// The 16 sums of codes of one Q8_K block.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn load_group_sums(sums: &[i16; 16]) -> __m256i {
    // SAFETY: 16 numbers of 16 bits are 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(sums.as_ptr().cast()) }
}

/// The two half-precision numbers at byte `offset`, widened. Where only the first is one, the second is noise.
///
/// Four bytes and not two: a two-byte load into a register keeps the rest of it, and so waits for whatever last used it.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn halves_at(block: &[u8], offset: usize) -> [f32; 2] {
    let bits = [block[offset], block[offset + 1], block[offset + 2], block[offset + 3]];
    let wide = _mm_cvtph_ps(_mm_cvtsi32_si128(i32::from_le_bytes(bits)));
    [_mm_cvtss_f32(wide), _mm_cvtss_f32(_mm_movehdup_ps(wide))]
}

/// 32 four-bit codes from 16 bytes: all low halves, then all high halves.
///
/// The bytes are read into both halves of the register and one half is shifted, which keeps the shuffle port free.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn nibbles(block: &[u8], offset: usize) -> __m256i {
    let both = _mm256_broadcastsi128_si256(load_16(block, offset));
    let shifted = _mm256_srlv_epi32(both, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4));
    _mm256_and_si256(shifted, _mm256_set1_epi8(15))
}

/// 0xFF in byte `i` where bit `i` of the word at byte `offset` is set.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn bit_mask(block: &[u8], offset: usize) -> __m256i {
    let word = i32::from_le_bytes([
        block[offset],
        block[offset + 1],
        block[offset + 2],
        block[offset + 3],
    ]);
    // Byte i of the register receives byte i / 8 of the word, then keeps its bit i % 8.
    let spread =
        _mm256_set_epi64x(0x0303_0303_0303_0303, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0);
    let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let kept = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(word), spread), bit);
    _mm256_cmpeq_epi8(kept, bit)
}

/// 32 five-bit codes: their fifth bits at byte `fifth`, the other four at byte `four`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn five_bits(block: &[u8], fifth: usize, four: usize) -> __m256i {
    let fifth = _mm256_and_si256(bit_mask(block, fifth), _mm256_set1_epi8(16));
    _mm256_or_si256(nibbles(block, four), fifth)
}

/// Per lane, four products of signed weights and signed codes, summed, as integers.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn quad_products_signed(x: __m256i, y: __m256i) -> __m256i {
    let pairs = _mm256_maddubs_epi16(_mm256_sign_epi8(x, x), _mm256_sign_epi8(y, x));
    _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))
}

/// Per lane, four products of unsigned weights and signed codes, summed.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn quad_sums_unsigned(x: __m256i, y: __m256i) -> __m256 {
    let pairs = _mm256_maddubs_epi16(x, y);
    _mm256_cvtepi32_ps(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
}

/// Per lane, four products of signed weights and signed codes, summed: the weight's sign moves to the code.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn quad_sums_signed(x: __m256i, y: __m256i) -> __m256 {
    _mm256_cvtepi32_ps(quad_products_signed(x, y))
}

/// `sums` plus, per lane, four products of unsigned weights and codes times the scale of their group of 16 bits lanes.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn add_scaled(sums: __m256i, scale: __m256i, x: __m256i, y: __m256i) -> __m256i {
    _mm256_add_epi32(sums, _mm256_madd_epi16(scale, _mm256_maddubs_epi16(x, y)))
}

/// `scale` of block and activation multiplied, in every lane: the block's is the half-precision number at `offset`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn scale_lanes(block: &[u8], offset: usize, scale: f32) -> __m256 {
    let bits = i16::from_le_bytes([block[offset], block[offset + 1]]);
    _mm256_mul_ps(_mm256_cvtph_ps(_mm_set1_epi16(bits)), _mm256_set1_ps(scale))
}

/// Byte indices that copy 16-bit factor `below` to every place of the lower half of a register and `above` to the upper.
const fn copies(below: u8, above: u8) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut i = 0;
    while i < 32 {
        bytes[i] = 2 * (if i < 16 { below } else { above }) + (i % 2) as u8;
        i += 1;
    }
    bytes
}

/// The scales of 16 groups of 16 values: those of groups 0..8 and of 8..16, each in both halves of a register.
#[derive(Clone, Copy)]
pub(crate) struct Scales16([__m256i; 2]);

impl Scales16 {
    /// From 16 signed bytes.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(crate) fn new(bytes: __m128i) -> Scales16 {
        let wide = _mm256_cvtepi8_epi16(bytes);
        Scales16([
            _mm256_permute2x128_si256::<0x00>(wide, wide),
            _mm256_permute2x128_si256::<0x11>(wide, wide),
        ])
    }

    /// The factors of chunk `index` of 32 values: its first group below, its second above.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(crate) fn chunk(&self, index: usize) -> __m256i {
        const COPIES: [[u8; 32]; 4] = [copies(0, 1), copies(2, 3), copies(4, 5), copies(6, 7)];
        _mm256_shuffle_epi8(self.0[index / 4], load_32(&COPIES[index % 4], 0))
    }
}

/// The scales of 8 groups of 32 values, in both halves of a register.
#[derive(Clone, Copy)]
pub(crate) struct Scales8(__m256i);

impl Scales8 {
    /// From eight unsigned bytes.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(crate) fn new(bytes: [u8; 8]) -> Scales8 {
        let wide = _mm_cvtepu8_epi16(_mm_cvtsi64_si128(i64::from_le_bytes(bytes)));
        Scales8(_mm256_set_m128i(wide, wide))
    }

    /// The factors of chunk `index` of 32 values.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(crate) fn chunk(&self, index: usize) -> __m256i {
        const COPIES: [[u8; 32]; 8] = [
            copies(0, 0),
            copies(1, 1),
            copies(2, 2),
            copies(3, 3),
            copies(4, 4),
            copies(5, 5),
            copies(6, 6),
            copies(7, 7),
        ];
        _mm256_shuffle_epi8(self.0, load_32(&COPIES[index], 0))
    }
}

/// 16 scales from memory.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn load_scales(scales: &[i8; 16]) -> __m128i {
    // SAFETY: 16 readable bytes; the load needs no alignment.
    unsafe { _mm_loadu_si128(scales.as_ptr().cast()) }
}

/// Minimums of eight groups of 32 times the sums of their activation codes: lane `l` takes groups `2l` and `2l + 1`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn ground_sums(minimums: [u8; 8], sums: &[i16; 16]) -> __m128i {
    let sums = load_group_sums(sums);
    let low = _mm256_castsi256_si128(sums);
    let groups = _mm_hadd_epi16(low, _mm256_extracti128_si256::<1>(sums));
    let minimums = _mm_cvtepu8_epi16(_mm_cvtsi64_si128(i64::from_le_bytes(minimums)));
    _mm_madd_epi16(minimums, groups)
}

/// The sum of eight integer lanes.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn total(x: __m256i) -> i32 {
    total_four(_mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x)))
}

/// Four integer lanes as an array.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn four(x: __m128i) -> [i32; 4] {
    let mut lanes = [0; 4];
    // SAFETY: 16 writable bytes; the store needs no alignment.
    unsafe { _mm_storeu_si128(lanes.as_mut_ptr().cast(), x) };
    lanes
}

/// The sum of four integer lanes.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn total_four(x: __m128i) -> i32 {
    let two = _mm_hadd_epi32(x, x);
    _mm_cvtsi128_si32(_mm_hadd_epi32(two, two))
}

/// `acc + scale * sums`, fused.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn fma(acc: __m256, scale: f32, sums: __m256i) -> __m256 {
    _mm256_fmadd_ps(_mm256_set1_ps(scale), _mm256_cvtepi32_ps(sums), acc)
}

/// No sums yet.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn zero() -> __m256i {
    _mm256_setzero_si256()
}

/// The sum of eight lanes: halves first, then pairs two apart, then neighbours.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn sum(x: __m256) -> f32 {
    sum_four(_mm_add_ps(_mm256_extractf128_ps::<1>(x), _mm256_castps256_ps128(x)))
}

/// The sum of four lanes: pairs two apart, then neighbours.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn sum_four(x: __m128) -> f32 {
    let two = _mm_add_ps(x, _mm_movehl_ps(x, x));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}

/// Eight lanes by halves, then neighbours.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn sum_by_neighbours(x: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_extractf128_ps::<1>(x), _mm256_castps256_ps128(x));
    let two = _mm_hadd_ps(four, four);
    _mm_cvtss_f32(_mm_hadd_ps(two, two))
}

/// Accumulators two apart first, then the two sums.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn join(acc: [__m256; 4]) -> __m256 {
    _mm256_add_ps(_mm256_add_ps(acc[0], acc[2]), _mm256_add_ps(acc[1], acc[3]))
}

/// Eight consecutive f32 values.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn eight_f32(bytes: &[u8], part: usize) -> __m256 {
    let bytes = &bytes[part * 32..part * 32 + 32];
    // SAFETY: `bytes` is 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_ps(bytes.as_ptr().cast()) }
}

/// Eight consecutive binary16 values, widened.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn eight_f16(bytes: &[u8], part: usize) -> __m256 {
    _mm256_cvtph_ps(load_16(bytes, part * 16))
}

/// Eight consecutive bfloat16 values, widened.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn eight_bf16(bytes: &[u8], part: usize) -> __m256 {
    let wide = _mm256_cvtepu16_epi32(load_16(bytes, part * 16));
    _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
}

/// Defines a dense dot product over all whole steps of 32 values; the tail continues in the scalar reference's order.
macro_rules! dense {
    ($name:ident, $element:ty, $step:literal, $load:ident, $sum:ident, $tail:ident, $doc:literal) => {
        #[doc = $doc]
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(crate) fn $name(row: &[u8], x: &[$element]) -> f32 {
            let (steps, tail) = row.as_chunks::<$step>();
            let (x_steps, x_tail) = bytemuck::cast_slice::<$element, u8>(x).as_chunks::<$step>();
            let mut acc = [_mm256_setzero_ps(); 4];
            for (a, b) in steps.iter().zip(x_steps) {
                for (part, lane) in acc.iter_mut().enumerate() {
                    *lane = _mm256_fmadd_ps($load(a, part), $load(b, part), *lane);
                }
            }
            $tail($sum(join(acc)), tail, bytemuck::cast_slice(x_tail))
        }
    };
}

dense!(f32_values, f32, 128, eight_f32, sum_by_neighbours, f32_tail, "F32 rows.");
dense!(f16_values, u16, 64, eight_f16, sum_by_neighbours, f16_tail, "F16 rows, as bit patterns.");
dense!(bf16_values, u16, 64, eight_bf16, sum, bf16_tail, "BF16 rows, as bit patterns.");

/// Defines a dense dot product in one register of eight lanes; rows of a multiple of eight values.
macro_rules! dense_batch {
    ($name:ident, $element:ty, $part:ident, $step:literal, $load:ident, $doc:literal) => {
        #[doc = $doc]
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(crate) fn $name(row: &[u8], x: ActivationRow<'_>) -> f32 {
            let x = bytemuck::cast_slice::<$element, u8>(x.$part).as_chunks::<$step>().0;
            let mut acc = _mm256_setzero_ps();
            for (a, b) in row.as_chunks::<$step>().0.iter().zip(x) {
                acc = _mm256_fmadd_ps($load(a, 0), $load(b, 0), acc);
            }
            sum(acc)
        }
    };
}

dense_batch!(f32_batch, f32, values, 32, eight_f32, "A row of F32 weights in a batch.");
dense_batch!(f16_batch, u16, halves, 16, eight_f16, "A row of F16 weights in a batch.");
dense_batch!(bf16_batch, u16, halves, 16, eight_bf16, "A row of BF16 weights in a batch.");

/// A row of F32 weights.
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn f32_row(row: &[u8], x: ActivationRow<'_>) -> f32 {
    f32_values(row, x.values)
}

/// A row of F16 weights.
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn f16_row(row: &[u8], x: ActivationRow<'_>) -> f32 {
    f16_values(row, x.halves)
}

/// A row of BF16 weights.
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) fn bf16_row(row: &[u8], x: ActivationRow<'_>) -> f32 {
    bf16_values(row, x.halves)
}
