//! Q5_1: 32 weights `scale * code + minimum`, code of 5 bits. Bytes: scale, minimum (f16), 4 of fifth bits, 16 of low bits.

use super::bits::{fifth_bits, nibbles, put_fifth_bits, put_half, put_nibbles, range, reciprocal};
use super::{FormatSpec, Kernel, with_minimum};
use crate::activation::{Activation, ActivationRow};
#[cfg(target_arch = "x86_64")]
use crate::dot::avx2;
use crate::format::Format;
use crate::panel::{PanelSpec, unpack_rows};

pub(super) const SPEC: FormatSpec = FormatSpec {
    format: Format::Q5_1,
    name: "Q5_1",
    ggml_type: 7,
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

const BYTES: usize = 24;

fn codes_of(block: &[u8; BYTES]) -> [i8; 32] {
    let (low, high) = (nibbles(&block[8..]), fifth_bits(&block[4..]));
    std::array::from_fn(|i| low[i] + high[i])
}

fn dequantize(bytes: &[u8], out: &mut [f32]) {
    with_minimum::dequantize(bytes, out, codes_of);
}

fn quantize(x: &[f32], bytes: &mut [u8]) {
    for (x, block) in x.as_chunks::<32>().0.iter().zip(bytes.as_chunks_mut::<BYTES>().0) {
        let (low, high) = range(x);
        let scale = (high - low) / 31.0;
        let inverse = reciprocal(scale);
        put_half(block, 0, scale);
        put_half(block, 2, low);
        let codes = x.map(|v| ((v - low) * inverse + 0.5) as u8);
        put_fifth_bits(&mut block[4..], &codes);
        put_nibbles(&mut block[8..], &codes);
    }
}

fn dot_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    with_minimum::dot(row, x, codes_of)
}

unpack_rows!(unpack, BYTES, |block| avx2::five_bits(block, 4, 8));

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn dot_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    with_minimum::dot_avx2(row, x, |block: &[u8; BYTES]| avx2::five_bits(block, 4, 8))
}
