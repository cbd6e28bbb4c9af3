//! The other operand of a product: activation rows, quantised the way llama.cpp's AVX2 build quantises them.
//!
//! | weights | activation |
//! |---|---|
//! | F32, F16, BF16 | the same format, rounded to nearest even |
//! | Q4_0, Q5_0, Q8_0 | [`Activation::Q8_0`] |
//! | Q4_1, Q5_1 | [`Activation::Q8_1`] |
//! | Q2_K … Q6_K | [`Activation::Q8K`] |
//!
//! The codes and scales are those of ggml's blocks, held as one array each, with the half-precision scales already
//! widened (exact), because a scale is read once per weight row.

#[cfg(target_arch = "x86_64")]
mod avx2;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::dot::Tier;
use crate::error::{Result, expect_len};
use crate::format::Format;

/// How activations are stored for a product with some weight format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// Unchanged.
    F32,
    /// Rounded to binary16.
    F16,
    /// Rounded to bfloat16.
    Bf16,
    /// Blocks of 32 codes and a half-precision scale.
    Q8_0,
    /// [`Activation::Q8_0`] and, per block, scale times the sum of the codes, in half precision.
    Q8_1,
    /// Blocks of 256 codes and an f32 scale, with the sums of the codes by 16.
    Q8K,
}

impl Activation {
    /// Values that share one scale; 1 where there is none.
    pub fn block_len(self) -> usize {
        match self {
            Activation::F32 | Activation::F16 | Activation::Bf16 => 1,
            Activation::Q8_0 | Activation::Q8_1 => 32,
            Activation::Q8K => 256,
        }
    }
}

/// Rows of activations, quantised once and read by every weight row. The buffers are kept between calls.
#[derive(Debug, Default)]
pub struct Activations {
    cols: usize,
    values: Vec<f32>,
    halves: Vec<u16>,
    codes: Vec<i8>,
    scales: Vec<f32>,
    sums: Vec<f32>,
    group_sums: Vec<i16>,
}

/// One quantised row. The slices that its [`Activation`] does not use are empty.
#[derive(Debug, Clone, Copy)]
pub struct ActivationRow<'a> {
    /// The values of an F32 row.
    pub values: &'a [f32],
    /// The bit patterns of an F16 or BF16 row.
    pub halves: &'a [u16],
    /// One signed code per value.
    pub codes: &'a [i8],
    /// One scale per block.
    pub scales: &'a [f32],
    /// Q8_1: per block, the scale times the sum of the codes.
    pub sums: &'a [f32],
    /// Q8_K: the sums of 16 codes, 16 per block.
    pub group_sums: &'a [i16],
}

impl ActivationRow<'_> {
    /// Values in the row.
    pub fn len(&self) -> usize {
        self.values.len().max(self.halves.len()).max(self.codes.len())
    }

    /// Whether the row has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// That the row holds what a kernel of `kind` reads.
    pub(crate) fn expect_kind(&self, kind: Activation) -> Result<()> {
        let len = self.len();
        let blocks = len / kind.block_len();
        let lengths = |values, halves, codes, scales, sums, group_sums| {
            expect_len("the activation's f32 part", "values", values, self.values.len())?;
            expect_len("the activation's 16-bit part", "values", halves, self.halves.len())?;
            expect_len("the activation's codes", "values", codes, self.codes.len())?;
            expect_len("the activation's scales", "values", scales, self.scales.len())?;
            expect_len("the activation's sums", "values", sums, self.sums.len())?;
            expect_len("the activation's group sums", "values", group_sums, self.group_sums.len())
        };
        match kind {
            Activation::F32 => lengths(len, 0, 0, 0, 0, 0),
            Activation::F16 | Activation::Bf16 => lengths(0, len, 0, 0, 0, 0),
            Activation::Q8_0 => lengths(0, 0, len, blocks, 0, 0),
            Activation::Q8_1 => lengths(0, 0, len, blocks, blocks, 0),
            Activation::Q8K => lengths(0, 0, len, blocks, 0, 16 * blocks),
        }
    }
}

impl Activations {
    /// `x` as one row, quantised on `tier` for a product with weights of `format`.
    pub fn quantized(tier: Tier, format: Format, x: &[f32]) -> Result<Activations> {
        let tier = tier.require()?;
        format.row_bytes(x.len())?;
        let mut activations = Activations::default();
        activations.fill(format.spec().activation, x, x.len(), tier);
        Ok(activations)
    }

    /// Quantises `x`, rows of `cols` values, to `kind`, replacing what was held. The tier changes the speed alone.
    ///
    /// `cols` is a multiple of [`Activation::block_len`], `x` holds whole rows and the processor has `tier`: the caller
    /// has checked all three.
    pub(crate) fn fill(&mut self, kind: Activation, x: &[f32], cols: usize, tier: Tier) {
        self.clear();
        self.cols = cols;
        match kind {
            Activation::F32 => self.values.extend_from_slice(x),
            Activation::F16 => {
                self.halves.resize(x.len(), 0);
                let halves: &mut [f16] = bytemuck::cast_slice_mut(&mut self.halves);
                halves.convert_from_f32_slice(x);
            }
            Activation::Bf16 => self.halves.extend(x.iter().map(|&v| bf16::from_f32(v).to_bits())),
            Activation::Q8_0 => self.fill_q8(x, tier),
            Activation::Q8_1 => {
                self.sums.resize(x.len() / 32, 0.0);
                self.fill_q8(x, tier);
            }
            Activation::Q8K => self.fill_q8k(x, tier),
        }
    }

    /// Row `index` of those last quantised.
    pub fn row(&self, index: usize) -> ActivationRow<'_> {
        fn part<T>(all: &[T], index: usize, len: usize) -> &[T] {
            if all.is_empty() { all } else { &all[index * len..(index + 1) * len] }
        }
        let cols = self.cols;
        let blocks = if self.group_sums.is_empty() { cols / 32 } else { cols / 256 };
        ActivationRow {
            values: part(&self.values, index, cols),
            halves: part(&self.halves, index, cols),
            codes: part(&self.codes, index, cols),
            scales: part(&self.scales, index, blocks),
            sums: part(&self.sums, index, blocks),
            group_sums: part(&self.group_sums, index, blocks * 16),
        }
    }

    /// Whether a code is -128, as only a value that is not finite gives one. Its negative is no byte, and the dot products
    /// wrap it.
    pub(crate) fn has_least_code(&self) -> bool {
        self.codes.contains(&i8::MIN)
    }

    fn clear(&mut self) {
        self.values.clear();
        self.halves.clear();
        self.codes.clear();
        self.scales.clear();
        self.sums.clear();
        self.group_sums.clear();
    }

    /// Q8_0: `d = amax / 127` kept as f16, codes by `127 / amax` in f32, ties to even. Q8_1, for which the sums have
    /// their length already, also keeps as f16 the sum of the codes times `d` before its rounding.
    fn fill_q8(&mut self, x: &[f32], tier: Tier) {
        self.codes.resize(x.len(), 0);
        self.scales.resize(x.len() / 32, 0.0);
        let codes = self.codes.as_chunks_mut::<32>().0;
        for (i, (x, codes)) in x.as_chunks::<32>().0.iter().zip(codes).enumerate() {
            let (amax, sum) = match tier {
                // SAFETY: the caller has required the tier.
                #[cfg(target_arch = "x86_64")]
                Tier::Avx2 | Tier::Avx512 => unsafe { avx2::quantize_32(x, codes) },
                _ => quantize_32(x, codes),
            };
            self.scales[i] = amax / 127.0;
            if let Some(scaled) = self.sums.get_mut(i) {
                *scaled = self.scales[i] * sum as f32;
            }
        }
        round_to_half(&mut self.scales);
        round_to_half(&mut self.sums);
    }

    /// Q8_K: the value of largest magnitude becomes -127; the scale stays f32.
    fn fill_q8k(&mut self, x: &[f32], tier: Tier) {
        self.codes.resize(x.len(), 0);
        self.group_sums.resize(x.len() / 16, 0);
        for (x, codes) in x.as_chunks::<256>().0.iter().zip(self.codes.as_chunks_mut::<256>().0) {
            let max = match tier {
                // SAFETY: the caller has required the tier.
                #[cfg(target_arch = "x86_64")]
                Tier::Avx2 | Tier::Avx512 => unsafe { avx2::quantize_256(x, codes) },
                _ => quantize_256(x, codes),
            };
            self.scales.push(if max == 0.0 { 0.0 } else { 1.0 / k_inverse(max) });
        }
        for (sum, codes) in self.group_sums.iter_mut().zip(self.codes.as_chunks::<16>().0) {
            *sum = codes.iter().map(|&code| i16::from(code)).sum();
        }
    }
}

/// Rounds each value to half precision.
fn round_to_half(values: &mut [f32]) {
    let mut halves = [f16::ZERO; 64];
    for values in values.chunks_mut(halves.len()) {
        let halves = &mut halves[..values.len()];
        halves.convert_from_f32_slice(values);
        halves.convert_to_f32_slice(values);
    }
}

/// The larger of two; the second where either is a NaN, as `maxps` has it.
#[inline]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The largest of eight lanes: halves, quarters, the last two. Only a NaN can tell the order.
#[inline]
fn join_lanes(x: [f32; 8]) -> f32 {
    let half = |i: usize| larger(x[i], x[i + 4]);
    larger(larger(half(0), half(2)), larger(half(1), half(3)))
}

/// What a value is multiplied by to give its code. A NaN passes, and so reaches the codes.
#[inline]
fn inverse(amax: f32) -> f32 {
    if amax == 0.0 { 0.0 } else { 127.0 / amax }
}

/// The same for Q8_K, where the extreme value itself becomes -127.
#[inline]
fn k_inverse(max: f32) -> f32 {
    if max == 0.0 { 0.0 } else { -127.0 / max }
}

/// Writes the codes of a block of 32; returns its largest magnitude and the sum of the codes.
fn quantize_32(x: &[f32; 32], codes: &mut [i8; 32]) -> (f32, i32) {
    let mut lanes = [0.0_f32; 8];
    for (i, value) in x.iter().enumerate() {
        lanes[i % 8] = larger(lanes[i % 8], value.abs());
    }
    let amax = join_lanes(lanes);
    let inverse = inverse(amax);
    let mut sum = 0_i32;
    for (code, value) in codes.iter_mut().zip(x) {
        let whole = nearest_even(value * inverse);
        sum = sum.wrapping_add(whole);
        *code = saturate(whole);
    }
    (amax, sum)
}

/// Writes the codes of a block of 256; returns its value of largest magnitude, the first on ties. NaNs are passed over.
fn quantize_256(x: &[f32; 256], codes: &mut [i8; 256]) -> f32 {
    let max = x.iter().fold(0.0, |max: f32, &v| if v.abs() > max.abs() { v } else { max });
    let inverse = k_inverse(max);
    for (code, value) in codes.iter_mut().zip(x) {
        // ggml's `nearest_int`: the rounded integer is left in the low bits of the mantissa.
        let mantissa = (inverse * value + SHIFT).to_bits() & 0x007f_ffff;
        *code = saturate((mantissa as i32 - 0x0040_0000).min(127));
    }
    max
}

/// 1.5 * 2^23: adding it to a small number rounds that to an integer.
const SHIFT: f32 = 12_582_912.0;

/// To the nearest integer, ties to even; the least one for what does not fit, as `cvtps2dq` has it.
fn nearest_even(value: f32) -> i32 {
    let rounded = value.round_ties_even();
    if rounded.abs() < 2_147_483_648.0 { rounded as i32 } else { i32::MIN }
}

/// To a byte, as `packssdw` and `packsswb` narrow.
fn saturate(code: i32) -> i8 {
    code.clamp(i32::from(i8::MIN), i32::from(i8::MAX)) as i8
}
