//! Reading and writing the fields that several block formats share.

use half::f16;

/// The half-precision number at byte `offset`, widened (exact).
pub(super) fn half_at(block: &[u8], offset: usize) -> f32 {
    f16::from_le_bytes([block[offset], block[offset + 1]]).to_f32()
}

/// Rounds `value` to half precision and stores it at byte `offset`.
pub(super) fn put_half(block: &mut [u8], offset: usize, value: f32) {
    block[offset..offset + 2].copy_from_slice(&f16::from_f32(value).to_le_bytes());
}

/// 32 four-bit codes from 16 bytes: all low halves, then all high halves.
pub(super) fn nibbles(bytes: &[u8]) -> [i8; 32] {
    std::array::from_fn(|i| {
        let byte = bytes[i % 16];
        (if i < 16 { byte & 15 } else { byte >> 4 }) as i8
    })
}

/// Stores 32 codes so that [`nibbles`] reads their low four bits back.
pub(super) fn put_nibbles(bytes: &mut [u8], codes: &[u8; 32]) {
    for (i, byte) in bytes[..16].iter_mut().enumerate() {
        *byte = (codes[i] & 15) | (codes[i + 16] & 15) << 4;
    }
}

/// The fifth bits of 32 codes: bit `i` of the little-endian word belongs to code `i`. 16 where set.
pub(super) fn fifth_bits(bytes: &[u8]) -> [i8; 32] {
    std::array::from_fn(|i| ((bytes[i / 8] >> (i % 8) & 1) << 4) as i8)
}

/// Stores the fifth bits of 32 codes.
pub(super) fn put_fifth_bits(bytes: &mut [u8], codes: &[u8; 32]) {
    bytes[..4].fill(0);
    for (i, code) in codes.iter().enumerate() {
        bytes[i / 8] |= (code >> 4 & 1) << (i % 8);
    }
}

/// The element of largest magnitude, with its sign; the first on ties.
pub(super) fn signed_extreme(x: &[f32]) -> f32 {
    x.iter().fold(0.0, |extreme: f32, &v| if extreme.abs() < v.abs() { v } else { extreme })
}

/// The smallest and the largest value.
pub(super) fn range(x: &[f32]) -> (f32, f32) {
    x.iter().fold((f32::MAX, -f32::MAX), |(low, high), &v| {
        (if v < low { v } else { low }, if v > high { v } else { high })
    })
}

/// `1 / scale`, and 0 for the scale 0.
pub(super) fn reciprocal(scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { 1.0 / scale }
}
