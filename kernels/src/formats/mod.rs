//! The registry of weight formats. A format is one file here and one line in [`FORMATS`]; `tests/conformance.rs` runs
//! the whole suite over every line.

mod bf16;
mod bits;
mod f16;
mod f32;
mod k_blocks;
mod packed_scales;
mod q2_k;
mod q3_k;
mod q4_0;
mod q4_1;
mod q4_k;
mod q5_0;
mod q5_1;
mod q5_k;
mod q6_k;
mod q8_0;
mod with_minimum;

use crate::activation::Activation;
use crate::dot::{ScalarDot, VectorDot};
use crate::format::Format;
use crate::panel::PanelSpec;

/// Every format, in the order of the variants of [`Format`].
pub const FORMATS: [&FormatSpec; 13] = [
    &f32::SPEC,
    &f16::SPEC,
    &bf16::SPEC,
    &q4_0::SPEC,
    &q4_1::SPEC,
    &q5_0::SPEC,
    &q5_1::SPEC,
    &q8_0::SPEC,
    &q2_k::SPEC,
    &q3_k::SPEC,
    &q4_k::SPEC,
    &q5_k::SPEC,
    &q6_k::SPEC,
];

/// What a format's file says about it: sizes, and kernels over whole blocks whose lengths have been checked.
#[derive(Debug)]
pub struct FormatSpec {
    /// Its name in code.
    pub format: Format,
    /// Its name in GGUF tools.
    pub name: &'static str,
    /// Its id in a GGUF tensor header.
    pub ggml_type: u32,
    /// Values in a block.
    pub block_len: usize,
    /// Bytes of a block.
    pub block_bytes: usize,
    /// How the other operand of a product is stored.
    pub activation: Activation,
    /// Blocks to f32 values.
    pub(crate) dequantize: fn(&[u8], &mut [f32]),
    /// f32 values to blocks.
    pub(crate) quantize: fn(&[f32], &mut [u8]),
    /// The dot product.
    pub(crate) dot: Kernel,
    /// Another order, where llama.cpp has one for larger batches.
    pub(crate) batch: Option<BatchDot>,
    /// Another order, where llama.cpp repacks the weights.
    pub(crate) repacked: Option<RepackedDot>,
    /// How rows are unpacked for products in the order of the dot product with many activation rows.
    pub(crate) panel: Option<PanelSpec>,
}

/// One dot product on every tier, with the same bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    /// The reference.
    pub(crate) scalar: ScalarDot,
    /// With AVX2, FMA and F16C.
    #[cfg(target_arch = "x86_64")]
    pub(crate) avx2: VectorDot,
}

/// A dot product in the order of llama.cpp's kernel for many activation rows, and when it runs that kernel.
#[derive(Debug)]
pub(crate) struct BatchDot {
    /// Activation rows from which it is used.
    pub(crate) rows_from: usize,
    /// What the number of weight rows must divide by.
    pub(crate) rows_multiple: usize,
    /// What the number of columns must divide by.
    pub(crate) cols_multiple: usize,
    /// The dot product.
    pub(crate) kernel: Kernel,
}

/// Dot products in the order of llama.cpp's kernels for weights repacked in eights of rows.
#[derive(Debug)]
pub(crate) struct RepackedDot {
    /// For activation rows that do not fill a group of four.
    pub(crate) one: Kernel,
    /// For activation rows in groups of four.
    pub(crate) fours: Kernel,
}
