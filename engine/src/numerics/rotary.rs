//! Angles of the rotary embedding, worked out once a batch.

use std::f32::consts::PI;

use kernels::ops::Pairs;

use crate::config::{RopeConfig, RopeScaling};

/// Cosine and sine of every pair at some positions.
#[derive(Clone, Debug, PartialEq)]
pub struct RotaryTable {
    /// `[positions][dim/2]` pairs of cosine and sine.
    pub cos_sin: Vec<[f32; 2]>,
    /// Width of a head.
    pub dim: usize,
    /// Which values of a head form a pair.
    pub pairs: Pairs,
}

impl RotaryTable {
    /// The pairs of one row.
    pub fn row(&self, row: usize) -> &[[f32; 2]] {
        let pairs = self.dim / 2;
        &self.cos_sin[row * pairs..][..pairs]
    }
}

/// What ggml's converter writes for llama3 scaling: the divisor of each pair's angle, in `f32`.
pub(super) fn divisors(rope: &RopeConfig, dim: usize) -> Vec<f32> {
    match &rope.scaling {
        RopeScaling::None | RopeScaling::Linear { .. } => Vec::new(),
        RopeScaling::Divisors(divisors) => divisors.clone(),
        RopeScaling::Llama3 { .. } => {
            let unscaled = RopeConfig { scaling: RopeScaling::None, ..rope.clone() };
            let plain = inverse_frequencies(&unscaled, dim);
            let scaled = inverse_frequencies(rope, dim);
            plain.iter().zip(scaled).map(|(plain, scaled)| plain / scaled).collect()
        }
    }
}

/// The angle that each pair turns a position, as transformers works it out in `f32`.
pub(super) fn inverse_frequencies(rope: &RopeConfig, dim: usize) -> Vec<f32> {
    let plain = |pair: usize| 1.0 / rope.base.powf((2 * pair) as f32 / dim as f32);
    let pairs = 0..dim / 2;
    match &rope.scaling {
        RopeScaling::None => pairs.map(plain).collect(),
        RopeScaling::Linear { factor } => pairs.map(|pair| plain(pair) / factor).collect(),
        RopeScaling::Divisors(divisors) => pairs.map(|pair| plain(pair) / divisors[pair]).collect(),
        RopeScaling::Llama3 {
            factor,
            low_frequency_factor,
            high_frequency_factor,
            original_context,
        } => {
            let context = *original_context as f32;
            let stretch = |frequency: f32| {
                let wavelength = 2.0 * PI / frequency;
                if wavelength > context / low_frequency_factor {
                    frequency / factor
                } else if wavelength < context / high_frequency_factor {
                    frequency
                } else {
                    let smooth = (context / wavelength - low_frequency_factor)
                        / (high_frequency_factor - low_frequency_factor);
                    (1.0 - smooth) * frequency / factor + smooth * frequency
                }
            };
            pairs.map(|pair| stretch(plain(pair))).collect()
        }
    }
}
