//! Rotary position embedding (Su et al. 2021): each pair of a head's values is turned by an angle
//! that grows with the position and falls with the pair's index.

use super::path::on_both_paths;

/// Which values of a head form a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// `2i` with `2i + 1`: the order of the Llama paper, and of GGUF files of that family.
    Adjacent,
    /// `i` with `i + dim/2`: the order of GPT-NeoX and of Hugging Face checkpoints.
    Halves,
}

/// How the angle of pair `i` at position `p` is found.
#[derive(Clone, Debug, PartialEq)]
pub struct Frequencies {
    /// The base `theta`: pair `i` of a head of `dim` values turns `theta^(-2i/dim)` a position.
    pub base: f32,
    /// What each pair's angle is divided by; empty for none.
    pub divisors: Vec<f32>,
    /// What every angle is multiplied with (linear scaling); 1 for none.
    pub scale: f32,
}

/// Writes `cos` and `sin` of every pair at one position, `[dim/2][2]`. The angle is multiplied
/// up pair by pair in `f32`, so that its rounding grows along the head, as in ggml.
pub fn cos_sin_iterated(position: usize, frequencies: &Frequencies, out: &mut [[f32; 2]]) {
    let dim = 2 * out.len();
    let step = frequencies.base.powf(-2.0 / dim as f32);
    let mut theta = position as f32;
    for (i, pair) in out.iter_mut().enumerate() {
        let divisor = frequencies.divisors.get(i).copied().unwrap_or(1.0);
        let angle = frequencies.scale * (theta / divisor);
        *pair = [angle.cos(), angle.sin()];
        theta *= step;
    }
}

on_both_paths! {
    /// Turns one head of `2 * cos_sin.len()` values in place. The products of the pair's first value
    /// are fused into the sums, those of its second are rounded: GCC's choice in ggml.
    pub fn rotate(head: &mut [f32], cos_sin: &[[f32; 2]], pairs: Pairs) = body, body;
}

#[inline(always)]
fn body(head: &mut [f32], cos_sin: &[[f32; 2]], pairs: Pairs) {
    match pairs {
        Pairs::Adjacent => {
            for (x, &[cos, sin]) in head.as_chunks_mut::<2>().0.iter_mut().zip(cos_sin) {
                *x = turn(x[0], x[1], cos, sin);
            }
        }
        Pairs::Halves => {
            let (low, high) = head.split_at_mut(cos_sin.len());
            for ((a, b), &[cos, sin]) in low.iter_mut().zip(high).zip(cos_sin) {
                [*a, *b] = turn(*a, *b, cos, sin);
            }
        }
    }
}

#[inline(always)]
fn turn(a: f32, b: f32, cos: f32, sin: f32) -> [f32; 2] {
    [a.mul_add(cos, -(b * sin)), a.mul_add(sin, b * cos)]
}

#[cfg(test)]
mod tests {
    use super::{Frequencies, Pairs, cos_sin_iterated, rotate};
    use crate::ops::Path;
    use proptest::prelude::*;

    fn frequencies() -> Frequencies {
        Frequencies { base: 10_000.0, divisors: Vec::new(), scale: 1.0 }
    }

    #[test]
    fn angles_are_near_their_closed_form() {
        let mut table = [[0.0; 2]; 32];
        cos_sin_iterated(77, &frequencies(), &mut table);
        for (i, [cos, sin]) in table.iter().enumerate() {
            let angle = 77.0 * 10_000.0_f64.powf(-(i as f64) / 32.0);
            assert!((f64::from(*cos) - angle.cos()).abs() <= 1e-4, "pair {i}");
            assert!((f64::from(*sin) - angle.sin()).abs() <= 1e-4, "pair {i}");
        }
    }

    proptest! {
        #[test]
        fn turning_keeps_lengths_and_both_paths_agree(
            head in prop::collection::vec(-4.0f32..4.0, 64), position in 0usize..4000, halves: bool,
        ) {
            let pairs = if halves { Pairs::Halves } else { Pairs::Adjacent };
            let mut table = [[0.0; 2]; 32];
            cos_sin_iterated(position, &frequencies(), &mut table);
            let (mut scalar, mut best) = (head.clone(), head.clone());
            rotate(Path::SCALAR, &mut scalar, &table, pairs);
            rotate(Path::detect(), &mut best, &table, pairs);
            for (i, [cos, sin]) in table.iter().enumerate() {
                let (a, b) = if halves { (i, i + 32) } else { (2 * i, 2 * i + 1) };
                let (x, y) = (f64::from(head[a]), f64::from(head[b]));
                let (cos, sin) = (f64::from(*cos), f64::from(*sin));
                prop_assert!((f64::from(best[a]) - (x * cos - y * sin)).abs() <= 2e-6);
                prop_assert!((f64::from(best[b]) - (x * sin + y * cos)).abs() <= 2e-6);
                prop_assert_eq!(scalar[a].to_bits(), best[a].to_bits());
                prop_assert_eq!(scalar[b].to_bits(), best[b].to_bits());
            }
        }
    }
}
