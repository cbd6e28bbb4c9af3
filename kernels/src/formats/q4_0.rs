//! Q4_0: 32 weights `scale * (code - 8)`, code of 4 bits. Bytes: scale (f16), 16 of codes.

use super::bits::{half_at, nibbles, put_half, put_nibbles, reciprocal, signed_extreme};
use super::{FormatSpec, Kernel, RepackedDot};
use crate::activation::{Activation, ActivationRow};
#[cfg(target_arch = "x86_64")]
use crate::dot::avx2;
use crate::dot::lanes;
use crate::format::Format;
use crate::panel::{PanelSpec, unpack_rows};

pub(super) const SPEC: FormatSpec = FormatSpec {
    format: Format::Q4_0,
    name: "Q4_0",
    ggml_type: 2,
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
    repacked: Some(RepackedDot { one: REPACKED, fours: REPACKED }),
    panel: Some(PanelSpec {
        offset: 8,
        minimums: false,
        #[cfg(target_arch = "x86_64")]
        unpack,
    }),
};

const REPACKED: Kernel = Kernel {
    scalar: repacked_scalar,
    #[cfg(target_arch = "x86_64")]
    avx2: repacked_avx2,
};

const BYTES: usize = 18;

fn weights(block: &[u8; BYTES]) -> [i8; 32] {
    nibbles(&block[2..]).map(|code| code - 8)
}

fn dequantize(bytes: &[u8], out: &mut [f32]) {
    for (block, out) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut::<32>().0) {
        let scale = half_at(block, 0);
        *out = weights(block).map(|weight| f32::from(weight) * scale);
    }
}

fn quantize(x: &[f32], bytes: &mut [u8]) {
    for (x, block) in x.as_chunks::<32>().0.iter().zip(bytes.as_chunks_mut::<BYTES>().0) {
        let scale = signed_extreme(x) / -8.0;
        let inverse = reciprocal(scale);
        put_half(block, 0, scale);
        put_nibbles(&mut block[2..], &x.map(|v| (v * inverse + 8.5).min(15.0) as u8));
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

unpack_rows!(unpack, BYTES, |block| avx2::nibbles(block, 2));

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn dot_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    use std::arch::x86_64::{
        _mm256_fmadd_ps, _mm256_set1_epi8, _mm256_setzero_ps, _mm256_sub_epi8,
    };
    let mut acc = _mm256_setzero_ps();
    let codes = x.codes.as_chunks::<32>().0;
    for ((block, y), scale) in row.as_chunks::<BYTES>().0.iter().zip(codes).zip(x.scales) {
        let weights = _mm256_sub_epi8(avx2::nibbles(block, 2), _mm256_set1_epi8(8));
        let sums = avx2::quad_sums_signed(weights, avx2::load_codes(y, 0));
        acc = _mm256_fmadd_ps(avx2::scale_lanes(block, 0, *scale), sums, acc);
    }
    avx2::sum(acc)
}

/// One number a block: its products are summed before they are scaled.
fn repacked_scalar(row: &[u8], x: ActivationRow<'_>) -> f32 {
    let mut acc = 0.0_f32;
    let codes = x.codes.as_chunks::<32>().0;
    for ((block, y), scale) in row.as_chunks::<BYTES>().0.iter().zip(codes).zip(x.scales) {
        let products: i32 = lanes::quad_sums(&weights(block), y).iter().sum();
        acc = (half_at(block, 0) * scale).mul_add(products as f32, acc);
    }
    acc
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn repacked_avx2(row: &[u8], x: ActivationRow<'_>) -> f32 {
    use std::arch::x86_64::{_mm256_set1_epi8, _mm256_sub_epi8};
    let mut acc = 0.0_f32;
    let codes = x.codes.as_chunks::<32>().0;
    for ((block, y), scale) in row.as_chunks::<BYTES>().0.iter().zip(codes).zip(x.scales) {
        let weights = _mm256_sub_epi8(avx2::nibbles(block, 2), _mm256_set1_epi8(8));
        let products = avx2::total(avx2::quad_products_signed(weights, avx2::load_codes(y, 0)));
        acc = (avx2::halves_at(block, 0)[0] * scale).mul_add(products as f32, acc);
    }
    acc
}
