//! The eight f32 lanes of a 256-bit register, in plain Rust: the vocabulary of the scalar references.

/// The f32 accumulator of a dot product.
pub(crate) type Lanes = [f32; 8];

/// `acc + scale * sums`, each lane fused into one rounding.
pub(crate) fn fma(acc: &mut Lanes, scale: f32, sums: [i32; 8]) {
    for (lane, sum) in acc.iter_mut().zip(sums) {
        *lane = scale.mul_add(sum as f32, *lane);
    }
}

/// The sum of eight lanes: halves first, then pairs two apart, then neighbours.
pub(crate) fn sum(x: Lanes) -> f32 {
    let four: [f32; 4] = std::array::from_fn(|i| x[i] + x[i + 4]);
    sum_four(four)
}

/// The sum of four lanes: pairs two apart, then neighbours.
pub(crate) fn sum_four(x: [f32; 4]) -> f32 {
    (x[0] + x[2]) + (x[1] + x[3])
}

/// Per lane, the integer dot product of four neighbouring weights and codes: lane `l` takes `4l .. 4l + 4` of 32.
///
/// Two neighbouring products meet in 16 bits, where the sum saturates; only a code of -128, which stands for a
/// value that is not finite, can reach that.
pub(crate) fn quad_sums(weights: &[i8; 32], codes: &[i8]) -> [i32; 8] {
    let product = |i: usize| {
        // The sign of the weight moves to the code, and -(-128) wraps, as in `vpsignb`.
        let code = if weights[i] < 0 { codes[i].wrapping_neg() } else { codes[i] };
        i32::from(weights[i].unsigned_abs()) * i32::from(code)
    };
    let pair =
        |i: usize| (product(i) + product(i + 1)).clamp(i32::from(i16::MIN), i32::from(i16::MAX));
    std::array::from_fn(|lane| pair(4 * lane) + pair(4 * lane + 2))
}

/// [`quad_sums`] over a block of 256 in chunks of 32, each lane times the scale of its group: `scale(chunk, lane)`.
pub(crate) fn scaled_sums(
    weights: &[i8; 256],
    codes: &[i8],
    scale: impl Fn(usize, usize) -> i32,
) -> [i32; 8] {
    let mut sums = [0; 8];
    for (chunk, weights) in weights.as_chunks::<32>().0.iter().enumerate() {
        let quads = quad_sums(weights, &codes[chunk * 32..][..32]);
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += scale(chunk, lane) * quads[lane];
        }
    }
    sums
}

/// Eight sums of neighbouring products: lane `l` takes factors and sums `2l` and `2l + 1`.
pub(crate) fn pair_sums(factors: [i32; 16], sums: &[i16; 16]) -> [i32; 8] {
    let product = |i: usize| factors[i] * i32::from(sums[i]);
    std::array::from_fn(|lane| product(2 * lane) + product(2 * lane + 1))
}
