//! One body, two machine paths: every operation is written once, as plain lanes of `f32`, and
//! compiled twice, for the baseline and for AVX2 with FMA and F16C. Both give the same bits,
//! because each names its fused multiplications itself and no compiler may invent one.

use crate::{Result, Tier};

/// The machine path on which an operation runs: a [`Tier`] that this processor has. Only
/// [`Path::on`] makes the AVX2 one, so that holding it proves that the features are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Path {
    /// Plain Rust, on any processor: the reference.
    pub const SCALAR: Self = Self(Kind::Scalar);

    /// The path of a tier; an error where this processor lacks it.
    pub fn on(tier: Tier) -> Result<Self> {
        Ok(match tier.require()? {
            Tier::Scalar => Self::SCALAR,
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 | Tier::Avx512 => Self(Kind::Avx2),
            #[cfg(not(target_arch = "x86_64"))]
            Tier::Avx2 | Tier::Avx512 => Self::SCALAR,
        })
    }

    /// The best path of this processor.
    pub fn detect() -> Self {
        Self::on(Tier::detect()).unwrap_or(Self::SCALAR)
    }

    /// Whether this is the AVX2 path; `true` proves that AVX2, FMA and F16C are there.
    pub(super) fn is_avx2(self) -> bool {
        self != Self::SCALAR
    }
}

/// Defines `fn NAME(path, ...)`, which runs the first body on the scalar path and the second, compiled
/// for AVX2, FMA and F16C, on the other.
macro_rules! on_both_paths {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $scalar:expr, $vector:expr;) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments, reason = "an operation's operands, and no state")]
        $vis fn $name(path: $crate::ops::Path, $($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,f16c")]
                #[allow(clippy::too_many_arguments, reason = "as above")]
                fn vector($($arg: $ty),*) {
                    $vector($($arg),*);
                }
                if path.is_avx2() {
                    // SAFETY: only `Path::on` makes the AVX2 path, after the processor said that it
                    // has AVX2, FMA and F16C.
                    return unsafe { vector($($arg),*) };
                }
            }
            $scalar($($arg),*);
        }
    };
}
pub(super) use on_both_paths;
