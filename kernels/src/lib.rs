//! Quantised block formats and the CPU kernels that compute on them.
//!
//! Each kernel exists twice: a scalar reference that says which bits are right, and an AVX2 implementation that must
//! produce the same bits. The order of every floating-point sum follows llama.cpp's AVX2 build (see [`dot`]), so that a
//! model computed here can be compared with it token by token.
#![allow(unsafe_code, reason = "the one crate that may: intrinsics, and the pool's shared job")]
#![allow(
    clippy::inline_always,
    reason = "a body compiled for two tiers takes its caller's instructions"
)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod activation;
pub mod dot;
mod error;
mod format;
mod formats;
mod matmul;
pub mod ops;
mod panel;
mod pool;
mod quantize;

pub use activation::{Activation, ActivationRow, Activations};
pub use dot::{Order, Tier, dot_f16, dot_f32, kernel_name, tier};
pub use error::{Error, Result};
pub use format::{Format, dequantize_row};
pub use formats::{FORMATS, FormatSpec};
pub use matmul::{Matrix, Scratch, matmul, matmul_in_order};
pub use pool::Pool;
pub use quantize::quantize_row;
