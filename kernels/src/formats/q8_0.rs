//! Q8_0: 32 weights `scale * code`, code of 8 bits. Bytes: scale (f16), 32 of codes.

use super::bits::{half_at, put_half, reciprocal};
use super::{FormatSpec, Kernel};
use crate::activation::{Activation, ActivationRow};
#[cfg(target_arch = "x86_64")]
use crate::dot::avx2;
use crate::dot::lanes;
use crate::format::Format;
use crate::panel::{PanelSpec, unpack_rows};

pub(super) const SPEC: FormatSpec = FormatSpec {
    format: Format::Q8_0,
    name: "Q8_0",
    ggml_type: 8,
    block_len: 32,
    block_bytes: BYTES,
    activation: Activation::Q8_0,
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
        offset: 128,
        minimums: false,
        #[cfg(target_arch = "x86_64")]
        unpack,
    }),
};

const BYTES: usize = 34;

fn weights(block: &[u8; BYTES]) -> [i8; 32] {
    std::array::from_fn(|i| block[2 + i] as i8)
}

fn dequantize(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut::<32>().0) {
        let scale = half_at(block, 0);
        *out = weights(block).map(|weight| f32::from(weight) * scale);
    }
}

fn quantize(x: &[f32], bytes: &mut [u8]) {
    for (x, block) in x.as_chunks::<32>().0.iter().zip(bytes.as_chunks_mut::<BYTES>().0) {
        let scale = x.iter().fold(0.0, |amax: f32, v| amax.max(v.abs())) / 127.0;
        let inverse = reciprocal(scale);
        put_half(block, 0, scale);
        for (byte, v) in block[2..].iter_mut().zip(x) {
            // Halves away from zero, unlike the activations.
            *byte = (v * inverse).round() as i8 as u8;
        }
    }
}

fn dot_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    let mut acc = [0.0; 8];
    let codes = x.codes.as_chunks::<32>().0;
    for ((block, y), scale) in row.as_chunks::<BYTES>().0.iter().zip(codes).zip(x.scales) {
        lanes::fma(&mut acc, half_at(block, 0) * scale, lanes::quad_sums(&weights(block), y));
    }
    lanes::sum(acc)
}

unpack_rows!(unpack, BYTES, |block| {
    use std::arch::x86_64::{_mm256_set1_epi8, _mm256_xor_si256};
    _mm256_xor_si256(avx2::load_32(block, 2), _mm256_set1_epi8(-128))
});

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn dot_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_setzero_ps};
    let mut acc = _mm256_setzero_ps();
    let codes = x.codes.as_chunks::<32>().0;
    for ((block, y), scale) in row.as_chunks::<BYTES>().0.iter().zip(codes).zip(x.scales) {
        let sums = avx2::quad_sums_signed(avx2::load_32(block, 2), avx2::load_codes(y, 0));
        acc = _mm256_fmadd_ps(avx2::scale_lanes(block, 0, *scale), sums, acc);
    }
    avx2::sum(acc)
}
