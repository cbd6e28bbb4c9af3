//! Dot products of a row of weights with a row of activations, on the compressed blocks.
//!
//! Every format has two kernels that give the same bits: a scalar reference, written over the eight f32 lanes of the
//! AVX2 code with `mul_add` where that fuses, and the AVX2+FMA one. Products of small integers are exact, so the result
//! depends only on the order of the f32 sums that close each block. That order is llama.cpp's in a build with AVX2, FMA
//! and F16C and nothing wider (ggml 0.25.3), whose bits the tests assert. Which of its kernels runs depends on the number
//! `n` of activation rows; [`Order`] chooses whether ours follows.
//!
//! | weights | n | llama.cpp | here |
//! |---|---|---|---|
//! | Q4_1, Q5_1 | any | `ggml_vec_dot_*` | the same bits |
//! | Q4_0, Q5_0, Q8_0 | 1 | `ggml_vec_dot_*` | the same bits |
//! | Q4_0, Q5_0, Q8_0 | 2 and more | `tinyBLAS_Q0_AVX` | the same bits: it sums as the dot product does |
//! | Q2_K … Q6_K | 1 to 7 | `ggml_vec_dot_*` | the same bits |
//! | Q2_K … Q6_K | 8 and more | `tiled`: one number a block | the same bits with [`Order::LlamaCpp`] |
//! | F32, F16, BF16 | 1 | `ggml_vec_dot_*` | the same bits |
//! | F32, F16, BF16 | 2 and more, rows in fours, columns in eights | `tinyBLAS`: one register | the same bits with [`Order::LlamaCpp`] |
//! | Q4_0 repacked | any | `gemv`, `gemm` 8x8: one number a block | the same bits with [`Order::LlamaCppRepacked`] |
//! | Q4_K repacked | rows in groups of four | `gemm` 8x8: one number a quarter of a block | the same |
//! | Q4_K repacked | the other rows | `gemv` 8x8: one number a block | the same |
//!
//! llama.cpp repacks Q4_0 and Q4_K weights whose rows come in eights by default; `--no-repack` turns that off.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
mod dense;
pub(crate) mod lanes;

use std::fmt;

use crate::activation::ActivationRow;
use crate::error::{Error, Result, expect_len};
use crate::format::Format;
use crate::formats::{BatchDot, Kernel};
use crate::panel::PanelSpec;

pub(crate) use dense::{
    bf16_batch_scalar, bf16_scalar, f16_batch_scalar, f16_scalar, f32_batch_scalar, f32_scalar,
};
pub use dense::{dot_f16, dot_f32};

/// A kernel in plain Rust: a row of blocks, a quantised row, their dot product.
pub(crate) type ScalarDot = fn(&[u8], ActivationRow<'_>) -> f32;
/// The same with instructions that must have been detected before the call.
pub(crate) type VectorDot = unsafe fn(&[u8], ActivationRow<'_>) -> f32;

/// A set of processor instructions that kernels are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Plain Rust, any processor: the reference.
    Scalar,
    /// AVX2, FMA and F16C.
    Avx2,
    /// The same and AVX-512 (F, BW, DQ, VL, VNNI), for products with many activation rows.
    Avx512,
}

impl Tier {
    /// All tiers, the plainest first.
    pub const ALL: [Tier; 3] = [Tier::Scalar, Tier::Avx2, Tier::Avx512];

    /// The best tier of this processor.
    pub fn detect() -> Tier {
        let best = Tier::ALL.into_iter().rev().find(|tier| tier.is_available());
        best.unwrap_or(Tier::Scalar)
    }

    /// Whether this processor can run the tier.
    pub fn is_available(self) -> bool {
        match self {
            Tier::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512 => {
                Tier::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vnni")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Tier::Avx2 | Tier::Avx512 => false,
        }
    }

    /// The tier itself, or an error where this processor lacks it: a forced tier never falls back.
    pub fn require(self) -> Result<Tier> {
        if self.is_available() {
            Ok(self)
        } else {
            Err(Error::TierUnavailable { tier: self, needs: self.features().join(", ") })
        }
    }

    /// `scalar`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Scalar => "scalar",
            Tier::Avx2 => "avx2",
            Tier::Avx512 => "avx512",
        }
    }

    /// The processor features that the tier needs.
    pub fn features(self) -> &'static [&'static str] {
        const AVX512: [&str; 8] =
            ["avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"];
        match self {
            Tier::Scalar => &[],
            Tier::Avx2 => &AVX512[..3],
            Tier::Avx512 => &AVX512,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The best tier of this processor; what [`dot_f32`], [`dot_f16`] and a new pool use.
pub fn tier() -> Tier {
    Tier::detect()
}

/// The kernels that multiply `format` on `tier`, as `plumb info` reports them: those for one activation row, and those for
/// many where they are others.
pub fn kernel_name(format: Format, tier: Tier) -> &'static str {
    match (tier, format.spec().panel) {
        (Tier::Avx512, Some(_)) if format.spec().repacked.is_some() => {
            "avx2, avx512 panels unless in llama.cpp's repacked order"
        }
        (Tier::Avx512, Some(_)) => "avx2, avx512 panels",
        // Every format has a dot product on the other tiers: FormatSpec has no optional entry.
        (Tier::Avx512 | Tier::Avx2, _) => Tier::Avx2.name(),
        (Tier::Scalar, _) => Tier::Scalar.name(),
    }
}

/// The order of the f32 sums of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// One dot product a value, whatever the batch: a row's bits do not depend on the rows beside it.
    #[default]
    Dot,
    /// Of the dot product and the batch kernel, the one that llama.cpp runs for that number of activation rows.
    LlamaCpp,
    /// The same where llama.cpp has repacked the weights, as it does by default: Q4_0 and Q4_K in eights of rows.
    LlamaCppRepacked,
}

/// The dot product of one row of `format` with one quantised row, on `tier`.
///
/// For tests and measurements; [`crate::matmul()`] checks once for a whole matrix.
pub fn dot_row(tier: Tier, format: Format, row: &[u8], x: ActivationRow<'_>) -> Result<f32> {
    let dot = Dot::new(format, tier)?;
    expect_len("the row", "bytes", format.row_bytes(x.len())?, row.len())?;
    x.expect_kind(format.spec().activation)?;
    Ok(dot.call(row, 0, x))
}

/// The kernels of one product: a tier that exists here; the caller has matched the lengths.
#[derive(Clone, Copy)]
pub(crate) struct Dot {
    /// For activation rows below `grouped`.
    groups: Kernel,
    grouped: usize,
    /// For the others.
    rest: Kernel,
    tier: Tier,
    /// Where all take the dot product and the tier has panels.
    panel: Option<&'static PanelSpec>,
}

impl Dot {
    /// The dot product of `format` on `tier`.
    pub(crate) fn new(format: Format, tier: Tier) -> Result<Dot> {
        let spec = format.spec();
        let panel = spec.panel.as_ref().filter(|_| tier == Tier::Avx512);
        Ok(Dot { groups: spec.dot, grouped: 0, rest: spec.dot, tier: tier.require()?, panel })
    }

    /// The kernels that `order` takes for batches of `n` activation rows and a matrix of `rows` x `cols`.
    pub(crate) fn for_batch(
        format: Format,
        tier: Tier,
        order: Order,
        [n, rows, cols]: [usize; 3],
    ) -> Result<Dot> {
        let (spec, dot) = (format.spec(), Dot::new(format, tier)?);
        let repacked = order == Order::LlamaCppRepacked && rows.is_multiple_of(8);
        if let (Some(kernels), true) = (&spec.repacked, repacked) {
            let (groups, rest) = (kernels.fours, kernels.one);
            return Ok(Dot { groups, grouped: n - n % 4, rest, panel: None, ..dot });
        }
        let fits = |batch: &&BatchDot| {
            n >= batch.rows_from
                && rows.is_multiple_of(batch.rows_multiple)
                && cols.is_multiple_of(batch.cols_multiple)
        };
        Ok(match spec.batch.as_ref().filter(fits) {
            Some(batch) if order != Order::Dot => Dot { rest: batch.kernel, panel: None, ..dot },
            _ => dot,
        })
    }

    /// How rows are unpacked for many activation rows, where that gives the same bits and this tier can.
    pub(crate) fn panel(self) -> Option<&'static PanelSpec> {
        self.panel
    }

    /// The dot product of one weight row with activation row `index` of its batch. `row` and `x` have the same number of values.
    pub(crate) fn call(self, row: &[u8], index: usize, x: ActivationRow<'_>) -> f32 {
        let kernel = if index < self.grouped { self.groups } else { self.rest };
        match self.tier {
            // SAFETY: `new` has required the tier, so the processor has its instructions.
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 | Tier::Avx512 => unsafe { (kernel.avx2)(row, x) },
            _ => (kernel.scalar)(row, x),
        }
    }
}
