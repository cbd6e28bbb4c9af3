//! Dot products of a row of weights with a row of activations, on the compressed blocks.
//!
//! Every format has two kernels that give the same bits: a scalar reference, written over the eight f32 lanes of the
//! AVX2 code with `mul_add` where that fuses, and the AVX2+FMA one. Products of small integers are exact, so the result
//! depends only on the order of the f32 sums that close each block. That order is llama.cpp's `ggml_vec_dot_*` in a
//! build with AVX2, FMA and F16C and nothing wider (ggml 0.25.3); `tests/oracle.rs` asserts the bits.

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
mod dense;
pub(crate) mod lanes;

use std::fmt;

use crate::activation::ActivationRow;
use crate::error::{Error, Result, expect_len};
use crate::format::Format;

pub(crate) use dense::{bf16_scalar, f16_scalar, f32_scalar};
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
}

impl Tier {
    /// The best tier of this processor.
    pub fn detect() -> Tier {
        if Tier::Avx2.is_available() { Tier::Avx2 } else { Tier::Scalar }
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
            #[cfg(not(target_arch = "x86_64"))]
            Tier::Avx2 => false,
        }
    }

    /// The tier itself, or an error where this processor lacks it: a forced tier never falls back.
    pub fn require(self) -> Result<Tier> {
        if self.is_available() {
            Ok(self)
        } else {
            Err(Error::TierUnavailable { tier: self, needs: self.features() })
        }
    }

    /// `scalar` or `avx2`.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Scalar => "scalar",
            Tier::Avx2 => "avx2",
        }
    }

    /// The processor features that the tier needs.
    pub fn features(self) -> &'static str {
        match self {
            Tier::Scalar => "nothing",
            Tier::Avx2 => "avx2, fma and f16c",
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

/// The name of the kernel that multiplies `format` on `tier`, as `plumb info` reports it.
pub fn kernel_name(_format: Format, tier: Tier) -> &'static str {
    // Every format has a kernel on every tier: FormatSpec has no optional entry.
    tier.name()
}

/// The dot product of one row of `format` with one quantised row, on `tier`.
///
/// For tests and measurements; [`crate::matmul`] checks once for a whole matrix.
pub fn dot_row(tier: Tier, format: Format, row: &[u8], x: ActivationRow<'_>) -> Result<f32> {
    let dot = Dot::new(format, tier)?;
    expect_len("the row", "bytes", format.row_bytes(x.len())?, row.len())?;
    x.expect_kind(format.spec().activation)?;
    Ok(dot.call(row, x))
}

/// One checked kernel call: a tier that exists here, and lengths that the caller has matched.
#[derive(Clone, Copy)]
pub(crate) struct Dot {
    spec: &'static crate::FormatSpec,
    tier: Tier,
}

impl Dot {
    /// The kernel of `format` on `tier`.
    pub(crate) fn new(format: Format, tier: Tier) -> Result<Dot> {
        Ok(Dot { spec: format.spec(), tier: tier.require()? })
    }

    /// The dot product of one row. `row` and `x` have the same number of values.
    pub(crate) fn call(self, row: &[u8], x: ActivationRow<'_>) -> f32 {
        match self.tier {
            Tier::Scalar => (self.spec.dot_scalar)(row, x),
            // SAFETY: `new` has required the tier, so the processor has its instructions.
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => unsafe { (self.spec.dot_avx2)(row, x) },
            #[cfg(not(target_arch = "x86_64"))]
            Tier::Avx2 => (self.spec.dot_scalar)(row, x),
        }
    }
}
