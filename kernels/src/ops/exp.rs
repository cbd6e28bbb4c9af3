//! The vector exponential of Arm's Optimized Routines (`v_expf`, MIT): a power of two times a
//! polynomial of degree five, 1.45 ulp. Parity with ggml depends on its very coefficients and on
//! which of its multiplications are fused.

#[cfg(target_arch = "x86_64")]
use super::half_lanes::F16c;
use super::half_lanes::Software;

/// Lanes of one AVX2 register of `f32`.
pub(super) const LANES: usize = 8;

/// `1.5 * 2^23`: adding it rounds to an integer and leaves that integer in the low bits.
const SHIFT: f32 = 12_582_912.0;
const INVERSE_LN2: f32 = f32::from_bits(0x3fb8_aa3b);
const LN2_HIGH: f32 = f32::from_bits(0x3f31_7200);
const LN2_LOW: f32 = f32::from_bits(0x35bf_be8e);
const C0: f32 = f32::from_bits(0x3c07_2010);
const C1: f32 = f32::from_bits(0x3d2b_9f17);
const C2: f32 = f32::from_bits(0x3e2a_af33);
const C3: f32 = f32::from_bits(0x3eff_fedb);
const C4: f32 = f32::from_bits(0x3f7f_fff6);
const ONE_BITS: u32 = 0x3f80_0000;

/// How a path computes the exponential of a register.
pub(super) trait Exp {
    /// `e^x` of each lane. Above 88.38 the result is infinity, beneath -103.97 zero; NaN stays NaN.
    fn exp(x: [f32; LANES]) -> [f32; LANES];
}

impl Exp for Software {
    #[inline(always)]
    fn exp(x: [f32; LANES]) -> [f32; LANES] {
        x.map(exp_lane)
    }
}

#[cfg(target_arch = "x86_64")]
impl Exp for F16c {
    #[inline(always)]
    fn exp(x: [f32; LANES]) -> [f32; LANES] {
        use std::arch::x86_64::{
            __m256, _CMP_GT_OQ, _mm256_add_epi32, _mm256_andnot_ps, _mm256_castps_si256,
            _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_fmadd_ps, _mm256_fnmadd_ps,
            _mm256_movemask_ps, _mm256_mul_ps, _mm256_set1_epi32, _mm256_set1_ps,
            _mm256_slli_epi32, _mm256_sub_ps,
        };
        // SAFETY: the casts are between arrays of plain numbers and vectors of the same size, and this type is only
        // named inside functions compiled for AVX2 and FMA.
        unsafe {
            let all = |value: f32| _mm256_set1_ps(value);
            let lanes = std::mem::transmute::<[f32; LANES], __m256>(x);
            let z = _mm256_fmadd_ps(lanes, all(INVERSE_LN2), all(SHIFT));
            let n = _mm256_sub_ps(z, all(SHIFT));
            let magnitude = _mm256_andnot_ps(all(-0.0), n);
            if _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(magnitude, all(126.0))) != 0 {
                return Software::exp(x);
            }
            let b = _mm256_fnmadd_ps(n, all(LN2_HIGH), lanes);
            let b = _mm256_fnmadd_ps(n, all(LN2_LOW), b);
            let exponent = _mm256_slli_epi32::<23>(_mm256_castps_si256(z));
            let one = _mm256_set1_epi32(ONE_BITS.cast_signed());
            let k = _mm256_castsi256_ps(_mm256_add_epi32(exponent, one));
            let u = _mm256_mul_ps(b, b);
            let high = _mm256_fmadd_ps(all(C0), b, all(C1));
            let low = _mm256_fmadd_ps(all(C2), b, all(C3));
            let j = _mm256_fmadd_ps(high, u, low);
            let j = _mm256_fmadd_ps(j, u, _mm256_mul_ps(all(C4), b));
            std::mem::transmute::<__m256, [f32; LANES]>(_mm256_fmadd_ps(k, j, k))
        }
    }
}

#[inline(always)]
fn exp_lane(x: f32) -> f32 {
    let z = x.mul_add(INVERSE_LN2, SHIFT);
    let n = z - SHIFT;
    let b = (-n).mul_add(LN2_LOW, (-n).mul_add(LN2_HIGH, x));
    let exponent = z.to_bits() << 23;
    let k = f32::from_bits(exponent.wrapping_add(ONE_BITS));
    let u = b * b;
    let high = C0.mul_add(b, C1);
    let low = C2.mul_add(b, C3);
    let j = high.mul_add(u, low).mul_add(u, C4 * b);
    // Beyond 2^126 the power of two is applied in two steps, beyond 2^192 it over- or underflows.
    let g = if n <= 0.0 { 0x8200_0000_u32 } else { 0 };
    let s1 = f32::from_bits(g.wrapping_add(0x7f00_0000));
    let s2 = f32::from_bits(exponent.wrapping_sub(g));
    let ordinary = k.mul_add(j, k);
    let scaled = s2.mul_add(j, s2) * s1;
    let saturated = s1 * s1;
    let magnitude = n.abs();
    if magnitude > 192.0 {
        saturated
    } else if magnitude > 126.0 {
        scaled
    } else {
        ordinary
    }
}

/// Splits a slice in whole registers and a tail.
#[inline(always)]
pub(super) fn registers(x: &[f32]) -> (&[[f32; LANES]], &[f32]) {
    x.as_chunks()
}

/// The sum of the lanes as ggml reduces them: halves, then quarters, then the last two.
#[inline(always)]
pub(super) fn sum_lanes(v: [f32; LANES]) -> f32 {
    let half = [v[4] + v[0], v[5] + v[1], v[6] + v[2], v[7] + v[3]];
    let quarter = [half[0] + half[2], half[1] + half[3]];
    quarter[0] + quarter[1]
}

#[cfg(test)]
mod tests {
    use super::{Exp, Software};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn within_two_ulp_of_f64(x in -87.0f32..88.0) {
            let expected = f64::from(x).exp();
            let got = f64::from(Software::exp([x; 8])[3]);
            prop_assert!((got - expected).abs() <= 2.0 * f64::from(f32::EPSILON) * expected);
        }
    }

    #[test]
    fn ends_of_the_range() {
        let y = Software::exp([
            0.0,
            -104.0,
            f32::NEG_INFINITY,
            89.0,
            f32::INFINITY,
            f32::NAN,
            1.0,
            -1.0,
        ]);
        assert_eq!(
            y[..5].iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
            [1.0, 0.0, 0.0, f32::INFINITY, f32::INFINITY].map(f32::to_bits)
        );
        assert!(y[5].is_nan());
    }
}
