//! Dot products of dense rows: four accumulators of eight lanes, 32 values a step, then a tail.

use half::{bf16, f16};

use super::Tier;
use super::lanes;

/// The dot product of two f32 rows of one length, in the order of llama.cpp's `ggml_vec_dot_f32`.
///
/// Where the lengths differ, the longer row's rest is not read.
pub fn dot_f32(a: &[f32], b: &[f32]) -> f32 {
    let n = a.len().min(b.len());
    let (a, b) = (bytemuck::cast_slice(&a[..n]), &b[..n]);
    match Tier::detect() {
        // SAFETY: the tier was detected.
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 | Tier::Avx512 => unsafe { super::avx2::f32_values(a, b) },
        _ => f32_scalar(a, b),
    }
}

/// The dot product of two binary16 rows of one length, in the order of llama.cpp's `ggml_vec_dot_f16`.
///
/// Where the lengths differ, the longer row's rest is not read.
pub fn dot_f16(a: &[f16], b: &[f16]) -> f32 {
    let n = a.len().min(b.len());
    let (a, b) = (bytemuck::cast_slice(&a[..n]), bytemuck::cast_slice(&b[..n]));
    match Tier::detect() {
        // SAFETY: the tier was detected.
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 | Tier::Avx512 => unsafe { super::avx2::f16_values(a, b) },
        _ => f16_scalar(a, b),
    }
}

/// The four accumulators over all whole steps of 32, and how many values they took.
fn accumulate(n: usize, product: impl Fn(usize) -> (f32, f32)) -> ([lanes::Lanes; 4], usize) {
    let whole = n & !31;
    let mut acc = [[0.0_f32; 8]; 4];
    for step in (0..whole).step_by(32) {
        for (i, lane) in acc.as_flattened_mut().iter_mut().enumerate() {
            let (a, b) = product(step + i);
            *lane = a.mul_add(b, *lane);
        }
    }
    (acc, whole)
}

/// Accumulators two apart first, then the two sums.
fn join(acc: [lanes::Lanes; 4]) -> lanes::Lanes {
    std::array::from_fn(|i| (acc[0][i] + acc[2][i]) + (acc[1][i] + acc[3][i]))
}

/// Eight lanes by halves, then neighbours (`vhaddps`).
fn sum_by_neighbours(x: lanes::Lanes) -> f32 {
    ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]))
}

/// An F32 row. The lanes of a sum are joined by neighbours.
pub(crate) fn f32_scalar(row: &[u8], x: &[f32]) -> f32 {
    let numbers = row.as_chunks().0;
    let (acc, whole) = accumulate(x.len(), |i| (f32::from_le_bytes(numbers[i]), x[i]));
    f32_tail(sum_by_neighbours(join(acc)), &row[whole * 4..], &x[whole..])
}

/// An F16 row, in the order of [`f32_scalar`] but for the tail.
pub(crate) fn f16_scalar(row: &[u8], x: &[u16]) -> f32 {
    let bits = row.as_chunks().0;
    let (acc, whole) = accumulate(x.len(), |i| {
        (f16::from_le_bytes(bits[i]).to_f32(), f16::from_bits(x[i]).to_f32())
    });
    f16_tail(sum_by_neighbours(join(acc)), &row[whole * 2..], &x[whole..])
}

/// A BF16 row. The lanes of a sum are joined as in the block formats.
pub(crate) fn bf16_scalar(row: &[u8], x: &[u16]) -> f32 {
    let bits = row.as_chunks().0;
    let (acc, whole) = accumulate(x.len(), |i| {
        (bf16::from_le_bytes(bits[i]).to_f32(), bf16::from_bits(x[i]).to_f32())
    });
    bf16_tail(lanes::sum(join(acc)), &row[whole * 2..], &x[whole..])
}

/// One register of eight lanes over rows of a multiple of eight values: the order of llama.cpp's `tinyBLAS`.
fn in_one_register(n: usize, product: impl Fn(usize) -> (f32, f32)) -> f32 {
    let mut acc = [0.0_f32; 8];
    for i in 0..n {
        let (a, b) = product(i);
        acc[i % 8] = a.mul_add(b, acc[i % 8]);
    }
    lanes::sum(acc)
}

/// An F32 row in a batch.
pub(crate) fn f32_batch_scalar(row: &[u8], x: &[f32]) -> f32 {
    let numbers = row.as_chunks().0;
    in_one_register(x.len(), |i| (f32::from_le_bytes(numbers[i]), x[i]))
}

/// An F16 row in a batch.
pub(crate) fn f16_batch_scalar(row: &[u8], x: &[u16]) -> f32 {
    let bits = row.as_chunks().0;
    in_one_register(x.len(), |i| {
        (f16::from_le_bytes(bits[i]).to_f32(), f16::from_bits(x[i]).to_f32())
    })
}

/// A BF16 row in a batch.
pub(crate) fn bf16_batch_scalar(row: &[u8], x: &[u16]) -> f32 {
    let bits = row.as_chunks().0;
    in_one_register(x.len(), |i| {
        (bf16::from_le_bytes(bits[i]).to_f32(), bf16::from_bits(x[i]).to_f32())
    })
}

/// Fewer than 32 last values: whole fours are multiplied and added with two roundings, the last three or fewer with
/// one, as the oracle's compiler arranged it.
pub(super) fn f32_tail(mut sum: f32, row: &[u8], x: &[f32]) -> f32 {
    let numbers = row.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    for (i, (a, &b)) in numbers.zip(x).enumerate() {
        sum = if i < (x.len() & !3) { sum + a * b } else { a.mul_add(b, sum) };
    }
    sum
}

/// Fewer than 32 last values, added in double.
pub(super) fn f16_tail(sum: f32, row: &[u8], x: &[u16]) -> f32 {
    let pairs = row.as_chunks().0.iter().zip(x);
    pairs.fold(f64::from(sum), |sum, (a, b)| {
        sum + f64::from(f16::from_le_bytes(*a).to_f32() * f16::from_bits(*b).to_f32())
    }) as f32
}

/// Fewer than 32 last values, added in double.
pub(super) fn bf16_tail(sum: f32, row: &[u8], x: &[u16]) -> f32 {
    let pairs = row.as_chunks().0.iter().zip(x);
    pairs.fold(f64::from(sum), |sum, (a, b)| {
        sum + f64::from(bf16::from_le_bytes(*a).to_f32() * bf16::from_bits(*b).to_f32())
    }) as f32
}
