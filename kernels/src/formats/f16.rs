//! F16: dense binary16, little-endian.

use half::f16;

use super::{BatchDot, FormatSpec, Kernel};
use crate::activation::Activation;
use crate::dot;
use crate::format::Format;

pub(super) const SPEC: FormatSpec = FormatSpec {
    format: Format::F16,
    name: "F16",
    ggml_type: 1,
    block_len: 1,
    block_bytes: 2,
    activation: Activation::F16,
    dequantize,
    quantize,
    dot: Kernel {
        scalar: |row, x| dot::f16_scalar(row, x.halves),
        #[cfg(target_arch = "x86_64")]
        avx2: dot::avx2::f16_row,
    },
    batch: Some(BatchDot {
        rows_from: 2,
        rows_multiple: 4,
        cols_multiple: 8,
        kernel: Kernel {
            scalar: |row, x| dot::f16_batch_scalar(row, x.halves),
            #[cfg(target_arch = "x86_64")]
            avx2: dot::avx2::f16_batch,
        },
    }),
    repacked: None,
    panel: None,
};

fn dequantize(bytes: &[u8], out: &mut [f32]) {
    for (value, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
        *value = f16::from_le_bytes(*bytes).to_f32();
    }
}

fn quantize(x: &[f32], bytes: &mut [u8]) {
    for (value, bytes) in x.iter().zip(bytes.as_chunks_mut().0) {
        *bytes = f16::from_f32(*value).to_le_bytes();
    }
}
