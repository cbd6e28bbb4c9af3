//! Eight half-precision values at a time: widening is exact, narrowing rounds to the nearest even.

use half::f16;

use super::exp::LANES;

/// How a path converts between `f16` and `f32`.
pub(super) trait HalfLanes {
    /// Eight halves as `f32`.
    fn widen(halves: [f16; LANES]) -> [f32; LANES];
    /// Eight `f32` rounded to halves.
    fn narrow(values: [f32; LANES]) -> [f16; LANES];
}

/// Plain Rust.
pub(super) struct Software;

impl HalfLanes for Software {
    #[inline(always)]
    fn widen(halves: [f16; LANES]) -> [f32; LANES] {
        halves.map(f16::to_f32_const)
    }

    #[inline(always)]
    fn narrow(values: [f32; LANES]) -> [f16; LANES] {
        values.map(f16::from_f32_const)
    }
}

/// AVX2, FMA and F16C instructions. It may only be named inside code that has the features.
#[cfg(target_arch = "x86_64")]
pub(super) struct F16c;

#[cfg(target_arch = "x86_64")]
impl HalfLanes for F16c {
    #[inline(always)]
    fn widen(halves: [f16; LANES]) -> [f32; LANES] {
        use std::arch::x86_64::{__m128i, __m256, _mm256_cvtph_ps};
        // SAFETY: both casts are between arrays of plain numbers and vectors of the same size, and
        // this type is only named inside functions compiled for F16C.
        unsafe {
            let bits = std::mem::transmute::<[f16; LANES], __m128i>(halves);
            std::mem::transmute::<__m256, [f32; LANES]>(_mm256_cvtph_ps(bits))
        }
    }

    #[inline(always)]
    fn narrow(values: [f32; LANES]) -> [f16; LANES] {
        use std::arch::x86_64::{__m128i, __m256, _MM_FROUND_TO_NEAREST_INT, _mm256_cvtps_ph};
        // SAFETY: as in `widen`.
        unsafe {
            let lanes = std::mem::transmute::<[f32; LANES], __m256>(values);
            let bits = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(lanes);
            std::mem::transmute::<__m128i, [f16; LANES]>(bits)
        }
    }
}
