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

use half::{bf16, f16};

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
        activations.fill(format.spec().activation, x, x.len());
        Ok(activations)
    }

    /// Quantises `x`, rows of `cols` values, to `kind`, replacing what was held.
    ///
    /// `cols` is a multiple of [`Activation::block_len`] and `x` holds whole rows: the caller has checked both.
    pub(crate) fn fill(&mut self, kind: Activation, x: &[f32], cols: usize) {
        *self = Activations { cols, ..std::mem::take(self) };
        self.clear();
        match kind {
            Activation::F32 => self.values.extend_from_slice(x),
            Activation::F16 => self.halves.extend(x.iter().map(|&v| f16::from_f32(v).to_bits())),
            Activation::Bf16 => self.halves.extend(x.iter().map(|&v| bf16::from_f32(v).to_bits())),
            Activation::Q8_0 => x.as_chunks().0.iter().for_each(|block| {
                self.push_q8_0(block);
            }),
            Activation::Q8_1 => x.as_chunks().0.iter().for_each(|block| self.push_q8_1(block)),
            Activation::Q8K => x.as_chunks().0.iter().for_each(|block| self.push_q8k(block)),
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

    /// Q8_0: `d = amax / 127` kept as f16, codes by `127 / amax` in f32, ties to even.
    /// Returns the scale before its rounding and the sum of the codes.
    fn push_q8_0(&mut self, x: &[f32; 32]) -> (f32, i32) {
        let amax = largest_magnitude(x);
        let scale = amax / 127.0;
        // `amax != 0` and not `> 0`: a NaN must reach the codes and the scale.
        #[expect(clippy::float_cmp, reason = "exactly zero is the case without a reciprocal")]
        let inverse = if amax != 0.0 { 127.0 / amax } else { 0.0 };
        self.scales.push(f16::from_f32(scale).to_f32());
        let mut sum = 0_i32;
        for &value in x {
            let code = nearest_even(value * inverse);
            sum = sum.wrapping_add(code);
            self.codes.push(code.clamp(i32::from(i8::MIN), i32::from(i8::MAX)) as i8);
        }
        (scale, sum)
    }

    /// Q8_1: Q8_0 and the sum of the codes times the scale before its rounding, kept as f16.
    fn push_q8_1(&mut self, x: &[f32; 32]) {
        let (scale, sum) = self.push_q8_0(x);
        self.sums.push(f16::from_f32(scale * sum as f32).to_f32());
    }

    /// Q8_K: the value of largest magnitude becomes -127; the scale stays f32.
    fn push_q8k(&mut self, x: &[f32; 256]) {
        let mut amax = 0.0_f32;
        let mut max = 0.0_f32;
        for &value in x {
            if value.abs() > amax {
                amax = value.abs();
                max = value;
            }
        }
        #[expect(clippy::float_cmp, reason = "exactly zero is the case without a reciprocal")]
        if amax == 0.0 {
            self.scales.push(0.0);
            self.codes.extend_from_slice(&[0; 256]);
            self.group_sums.extend_from_slice(&[0; 16]);
            return;
        }
        let inverse = -127.0 / max;
        self.scales.push(1.0 / inverse);
        for group in x.as_chunks::<16>().0 {
            let codes = group.map(|value| nearest_by_shift(inverse * value).min(127) as i8);
            self.group_sums.push(codes.iter().map(|&code| i16::from(code)).sum());
            self.codes.extend_from_slice(&codes);
        }
    }
}

/// The largest magnitude of a block, by the eight lanes and the tree of the AVX2 code; only a NaN can tell the order.
fn largest_magnitude(x: &[f32; 32]) -> f32 {
    // `maxps` returns its second operand where either is a NaN.
    let max = |a: f32, b: f32| if a > b { a } else { b };
    let lane =
        |i: usize| max(max(max(x[i].abs(), x[i + 8].abs()), x[i + 16].abs()), x[i + 24].abs());
    let four: [f32; 4] = std::array::from_fn(|i| max(lane(i + 4), lane(i)));
    let two: [f32; 2] = std::array::from_fn(|i| max(four[i], four[i + 2]));
    max(two[0], two[1])
}

/// To the nearest integer, ties to even, with `cvtps2dq`'s answer for what does not fit.
fn nearest_even(value: f32) -> i32 {
    let rounded = value.round_ties_even();
    if rounded.abs() < 2_147_483_648.0 { rounded as i32 } else { i32::MIN }
}

/// ggml's `nearest_int`: adding 1.5 * 2^23 leaves the rounded integer in the low mantissa bits. A NaN gives 0.
fn nearest_by_shift(value: f32) -> i32 {
    let shifted = value + 12_582_912.0;
    (shifted.to_bits() & 0x007f_ffff) as i32 - 0x0040_0000
}
