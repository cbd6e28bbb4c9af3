//! Q4_1: 32 weights `scale * code + minimum`, code of 4 bits. Bytes: scale, minimum (f16), 16 of codes.

use super::bits::{nibbles, put_half, put_nibbles, range, reciprocal};
use super::{FormatSpec, Kernel, with_minimum};
use crate::activation::{Activation, ActivationRow};
#[cfg(target_arch = "x86_64")]
use crate::dot::avx2;
use crate::format::Format;
use crate::panel::{PanelSpec, unpack_rows};

pub(super) const SPEC: FormatSpec = FormatSpec {
    format: Format::Q4_1,
    name: "Q4_1",
    ggml_type: 3,
    block_len: 32,
    block_bytes: BYTES,
    activation: Activation::Q8_1,
    dequantize,
    quantize,
    dot: Kernel {
        scalar: dot_scalar,
        #[cfg(target_arch = "x86_64")]
        avx2: dot_avx2,
    },
    batch: None,
    repacked: None,
    panel: Some(PanelSpec {
        offset: 0,
        minimums: true,
        #[cfg(target_arch = "x86_64")]
        unpack,
    }),
};

const BYTES: usize = 20;

fn codes_of(block: &[u8; BYTES]) -> [i8; 32] {
    nibbles(&block[4..])
}

fn dequantize(bytes: &[u8], out: &mut [f32]) {
    with_minimum::dequantize(bytes, out, codes_of);
}

fn quantize(x: &[f32], bytes: &mut [u8]) {
    for (x, block) in x.as_chunks::<32>().0.iter().zip(bytes.as_chunks_mut::<BYTES>().0) {
        let (low, high) = range(x);
        let scale = (high - low) / 15.0;
        let inverse = reciprocal(scale);
        put_half(block, 0, scale);
        put_half(block, 2, low);
        put_nibbles(&mut block[4..], &x.map(|v| ((v - low) * inverse + 0.5).min(15.0) as u8));
    }
}

fn dot_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    with_minimum::dot(row, x, codes_of)
}

unpack_rows!(unpack, BYTES, |block| avx2::nibbles(block, 4));

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn dot_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    with_minimum::dot_avx2(row, x, |block: &[u8; BYTES]| avx2::nibbles(block, 4))
}
