//! Q5_0: 32 weights `scale * (code - 16)`, code of 5 bits. Bytes: scale (f16), 4 of fifth bits, 16 of low bits.

use super::bits::{
    fifth_bits, half_at, nibbles, put_fifth_bits, put_half, put_nibbles, reciprocal, signed_extreme,
};
use super::{FormatSpec, Kernel};
use crate::activation::{Activation, ActivationRow};
#[cfg(target_arch = "x86_64")]
use crate::dot::avx2;
use crate::dot::lanes;
use crate::format::Format;
use crate::panel::{PanelSpec, unpack_rows};

pub(super) const SPEC: FormatSpec = FormatSpec {
    format: Format::Q5_0,
    name: "Q5_0",
    ggml_type: 6,
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
        offset: 16,
        minimums: false,
        #[cfg(target_arch = "x86_64")]
        unpack,
    }),
};

const BYTES: usize = 22;

fn weights(block: &[u8; BYTES]) -> [i8; 32] {
    let (low, high) = (nibbles(&block[6..]), fifth_bits(&block[2..]));
    std::array::from_fn(|i| low[i] + high[i] - 16)
}

fn dequantize(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut::<32>().0) {
        let scale = half_at(block, 0);
        *out = weights(block).map(|weight| f32::from(weight) * scale);
    }
}

fn quantize(x: &[f32], bytes: &mut [u8]) {
    for (x, block) in x.as_chunks::<32>().0.iter().zip(bytes.as_chunks_mut::<BYTES>().0) {
        let scale = signed_extreme(x) / -16.0;
        let inverse = reciprocal(scale);
        put_half(block, 0, scale);
        let codes = x.map(|v| (v * inverse + 16.5).min(31.0) as u8);
        put_fifth_bits(&mut block[2..], &codes);
        put_nibbles(&mut block[6..], &codes);
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

unpack_rows!(unpack, BYTES, |block| avx2::five_bits(block, 2, 6));

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn dot_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    use std::arch::x86_64::{
        _mm256_andnot_si256, _mm256_fmadd_ps, _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_ps,
    };
    let mut acc = _mm256_setzero_ps();
    let codes = x.codes.as_chunks::<32>().0;
    for ((block, y), scale) in row.as_chunks::<BYTES>().0.iter().zip(codes).zip(x.scales) {
        // Without its fifth bit a code stands for itself minus 16: the four bits over all ones in two's complement.
        let unset = _mm256_andnot_si256(avx2::bit_mask(block, 2), _mm256_set1_epi8(-16));
        let weights = _mm256_or_si256(avx2::nibbles(block, 6), unset);
        let sums = avx2::quad_sums_signed(weights, avx2::load_codes(y, 0));
        acc = _mm256_fmadd_ps(avx2::scale_lanes(block, 0, *scale), sums, acc);
    }
    avx2::sum(acc)
}
