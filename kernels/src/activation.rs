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
    /// `x` as one row, quantised for a product with weights of `format`.
    pub fn quantized(format: Format, x: &[f32]) -> Result<Activations> {
        format.row_bytes(x.len())?;
        let mut activations = Activations::default();
        activations.fill(format.spec().activation, x, x.len(), Tier::detect());
        Ok(activations)
    }

    /// Quantises `x`, rows of `cols` values, to `kind`, replacing what was held. The tier changes the speed alone.
    ///
    /// `cols` is a multiple of [`Activation::block_len`], `x` holds whole rows and the processor has `tier`: the caller
    /// has checked all three.
    pub(crate) fn fill(&mut self, kind: Activation, x: &[f32], cols: usize, tier: Tier) {
        match tier {
            // SAFETY: the caller has required the tier.
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => unsafe { self.fill_avx2(kind, x, cols) },
            _ => self.fill_anywhere(kind, x, cols),
        }
    }

    /// [`Activations::fill_anywhere`], compiled for AVX2, FMA and F16C. Rust fuses nothing by itself: the same bits.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn fill_avx2(&mut self, kind: Activation, x: &[f32], cols: usize) {
        self.fill_anywhere(kind, x, cols);
    }

    #[inline(always)]
    fn fill_anywhere(&mut self, kind: Activation, x: &[f32], cols: usize) {
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
            Activation::Q8_0 => self.fill_q8(x, false),
            Activation::Q8_1 => self.fill_q8(x, true),
            Activation::Q8K => self.fill_q8k(x),
        }
    }

    /// Row `index` of the last [`Activations::fill`].
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

    fn clear(&mut self) {
        self.values.clear();
        self.halves.clear();
        self.codes.clear();
        self.scales.clear();
        self.sums.clear();
        self.group_sums.clear();
    }

    /// Q8_0: `d = amax / 127` kept as f16, codes by `127 / amax` in f32, ties to even. Q8_1 also keeps, as f16, the sum
    /// of the codes times `d` before its rounding.
    #[inline(always)]
    fn fill_q8(&mut self, x: &[f32], with_sums: bool) {
        self.codes.resize(x.len(), 0);
        for (x, codes) in x.as_chunks::<32>().0.iter().zip(self.codes.as_chunks_mut::<32>().0) {
            let amax = largest_magnitude(x);
            let scale = amax / 127.0;
            // A NaN takes the other arm: it must reach the codes and the scale.
            #[expect(clippy::float_cmp, reason = "exactly zero is the case without a reciprocal")]
            let inverse = if amax == 0.0 { 0.0 } else { 127.0 / amax };
            let whole = x.map(|value| (value * inverse).round_ties_even() as i32);
            *codes = whole.map(|code| code as i8);
            self.scales.push(f16::from_f32(scale).to_f32());
            if with_sums {
                let sum = whole.iter().fold(0_i32, |sum, code| sum.wrapping_add(*code));
                self.sums.push(f16::from_f32(scale * sum as f32).to_f32());
            }
        }
    }

    /// Q8_K: the value of largest magnitude becomes -127; the scale stays f32.
    #[inline(always)]
    fn fill_q8k(&mut self, x: &[f32]) {
        self.codes.resize(x.len(), 0);
        for (x, codes) in x.as_chunks::<256>().0.iter().zip(self.codes.as_chunks_mut::<256>().0) {
            let max = first_extreme(x);
            #[expect(clippy::float_cmp, reason = "exactly zero is the case without a reciprocal")]
            let inverse = if max == 0.0 { 0.0 } else { -127.0 / max };
            self.scales.push(if max == 0.0 { 0.0 } else { 1.0 / inverse });
            *codes = x.map(|value| nearest_by_shift(inverse * value).min(127) as i8);
            let sum = |group: &[i8; 16]| group.iter().map(|&code| i16::from(code)).sum::<i16>();
            self.group_sums.extend(codes.as_chunks::<16>().0.iter().map(sum));
        }
    }
}

/// The larger of two; the second where either is a NaN, as `maxps` has it.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The largest magnitude of a block, by eight lanes and then halves; only a NaN can tell the order.
#[inline(always)]
fn largest_magnitude(x: &[f32; 32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    for eight in x.as_chunks::<8>().0 {
        for (lane, value) in lanes.iter_mut().zip(eight) {
            *lane = larger(*lane, value.abs());
        }
    }
    let four: [f32; 4] = std::array::from_fn(|i| larger(lanes[i], lanes[i + 4]));
    larger(larger(four[0], four[2]), larger(four[1], four[3]))
}

/// The value of largest magnitude, the first on ties, with its sign. NaNs are passed over.
#[inline(always)]
fn first_extreme(x: &[f32; 256]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    for eight in x.as_chunks::<8>().0 {
        for (lane, value) in lanes.iter_mut().zip(eight) {
            *lane = larger(value.abs(), *lane);
        }
    }
    let amax = lanes.into_iter().fold(0.0, larger);
    #[expect(clippy::float_cmp, reason = "the maximum is one of the values")]
    x.iter().copied().find(|value| value.abs() == amax).unwrap_or(0.0)
}

/// ggml's `nearest_int`: adding 1.5 * 2^23 leaves the rounded integer in the low mantissa bits.
#[inline(always)]
fn nearest_by_shift(value: f32) -> i32 {
    let shifted = value + 12_582_912.0;
    (shifted.to_bits() & 0x007f_ffff) as i32 - 0x0040_0000
}
