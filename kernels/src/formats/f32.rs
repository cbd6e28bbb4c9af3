//! F32: dense binary32, little-endian.

use super::{BatchDot, FormatSpec, Kernel};
use crate::activation::Activation;
use crate::dot;
use crate::format::Format;

pub(super) const SPEC: FormatSpec = FormatSpec {
    format: Format::F32,
    name: "F32",
    ggml_type: 0,
    block_len: 1,
    block_bytes: 4,
    activation: Activation::F32,
    dequantize,
    quantize,
    dot: Kernel {
        scalar: |row, x| dot::f32_scalar(row, x.values),
        #[cfg(target_arch = "x86_64")]
        avx2: dot::avx2::f32_row,
    },
    batch: Some(BatchDot {
        rows_from: 2,
        rows_multiple: 4,
        cols_multiple: 8,
        kernel: Kernel {
            scalar: |row, x| dot::f32_batch_scalar(row, x.values),
            #[cfg(target_arch = "x86_64")]
            avx2: dot::avx2::f32_batch,
        },
    }),
    repacked: None,
    panel: None,
};

fn dequantize(bytes: &[u8], out: &mut [f32]) {
    for (value, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
        *value = f32::from_le_bytes(*bytes);
    }
}

fn quantize(x: &[f32], bytes: &mut [u8]) {
    for (value, bytes) in x.iter().zip(bytes.as_chunks_mut().0) {
        *bytes = value.to_le_bytes();
    }
}
