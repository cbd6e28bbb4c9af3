//! Activation quantisation with AVX2: the bits of the scalar functions beside it.

use std::arch::x86_64::{
    __m256, __m256i, _CMP_EQ_OQ, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _mm_add_epi32,
    _mm_cvtsi128_si32, _mm_hadd_epi32, _mm256_add_epi32, _mm256_add_ps, _mm256_and_ps,
    _mm256_and_si256, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_castsi256_si128,
    _mm256_cmp_ps, _mm256_cvtps_epi32, _mm256_extracti128_si256, _mm256_loadu_ps, _mm256_max_ps,
    _mm256_min_epi32, _mm256_movemask_ps, _mm256_mul_ps, _mm256_packs_epi16, _mm256_packs_epi32,
    _mm256_permutevar8x32_epi32, _mm256_round_ps, _mm256_set1_epi32, _mm256_set1_ps,
    _mm256_setr_epi32, _mm256_setzero_ps, _mm256_storeu_ps, _mm256_storeu_si256, _mm256_sub_epi32,
};

use super::larger;

/// Eight values.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn load(x: &[f32; 8]) -> __m256 {
    // SAFETY: 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_ps(x.as_ptr()) }
}

/// The eight lanes as an array.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn lanes(x: __m256) -> [f32; 8] {
    let mut lanes = [0.0; 8];
    // SAFETY: 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), x) };
    lanes
}

/// Eight magnitudes.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn magnitudes(x: &[f32; 8]) -> __m256 {
    _mm256_and_ps(load(x), _mm256_castsi256_ps(_mm256_set1_epi32(i32::MAX)))
}

/// Four times eight codes, each of which fits a byte, in order.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn store_codes(codes: &mut [i8; 32], parts: [__m256i; 4]) {
    let low = _mm256_packs_epi32(parts[0], parts[1]);
    let high = _mm256_packs_epi32(parts[2], parts[3]);
    // Packing works within halves: every fourth code group is in its place only after this.
    let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    let packed = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
    // SAFETY: 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(codes.as_mut_ptr().cast(), packed) };
}

/// [`super::quantize_32`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn quantize_32(x: &[f32; 32], codes: &mut [i8; 32]) -> (f32, i32) {
    let eights = x.as_chunks::<8>().0;
    let mut largest = _mm256_setzero_ps();
    for eight in eights {
        largest = _mm256_max_ps(largest, magnitudes(eight));
    }
    let amax = super::join_lanes(lanes(largest));
    let inverse = _mm256_set1_ps(super::inverse(amax));
    let mut parts = [_mm256_set1_epi32(0); 4];
    for (part, eight) in parts.iter_mut().zip(eights) {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        let rounded = _mm256_round_ps::<NEAREST>(_mm256_mul_ps(load(eight), inverse));
        *part = _mm256_cvtps_epi32(rounded);
    }
    store_codes(codes, parts);
    let sums = _mm256_add_epi32(
        _mm256_add_epi32(parts[0], parts[1]),
        _mm256_add_epi32(parts[2], parts[3]),
    );
    let four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    let two = _mm_hadd_epi32(four, four);
    (amax, _mm_cvtsi128_si32(_mm_hadd_epi32(two, two)))
}

/// [`super::quantize_256`].
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn quantize_256(x: &[f32; 256], codes: &mut [i8; 256]) -> f32 {
    let eights = x.as_chunks::<8>().0;
    let mut largest = _mm256_setzero_ps();
    for eight in eights {
        // The accumulator second: it stands where the value is a NaN.
        largest = _mm256_max_ps(magnitudes(eight), largest);
    }
    let amax = lanes(largest).into_iter().fold(0.0, |amax, lane| larger(lane, amax));
    let max = first_with_magnitude(eights, amax);
    let scaling = _mm256_set1_ps(super::k_inverse(max));
    for (x, codes) in eights.as_chunks::<4>().0.iter().zip(codes.as_chunks_mut::<32>().0) {
        let mut parts = [_mm256_set1_epi32(0); 4];
        for (part, eight) in parts.iter_mut().zip(x) {
            let shifted =
                _mm256_add_ps(_mm256_mul_ps(load(eight), scaling), _mm256_set1_ps(super::SHIFT));
            let mantissa =
                _mm256_and_si256(_mm256_castps_si256(shifted), _mm256_set1_epi32(0x007f_ffff));
            let whole = _mm256_sub_epi32(mantissa, _mm256_set1_epi32(0x0040_0000));
            *part = _mm256_min_epi32(whole, _mm256_set1_epi32(127));
        }
        store_codes(codes, parts);
    }
    max
}

/// The first value with this magnitude, 0 where there is none.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn first_with_magnitude(eights: &[[f32; 8]], amax: f32) -> f32 {
    for eight in eights {
        let equal = _mm256_cmp_ps::<_CMP_EQ_OQ>(magnitudes(eight), _mm256_set1_ps(amax));
        let mask = _mm256_movemask_ps(equal);
        if mask != 0 {
            return eight[mask.trailing_zeros() as usize];
        }
    }
    0.0
}
