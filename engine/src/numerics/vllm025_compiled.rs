//! vLLM 0.25.0 as it runs in production: the module graph compiled by Inductor, which computes what it fuses in `f32` and
//! rounds to the model's type where a value leaves the fused kernel.
//!
//! So the residual stream is summed from layer to layer without ever being rounded; a norm rounds once, and sees that stream; a norm
//! of heads and their rotation round once together; `silu(gate) * up` rounds once. Attention is a kernel of its own: scores stay in `f32`, and the
//! weights are rounded before the weighted sum, as its matrix units take them. The orders of summation are the libraries' and
//! are not copied. Sources: vllm 0.25.0, `ir/ops/layernorm.py`, `model_executor/layers/{activation,rotary_embedding/base}.py`,
//! `model_executor/models/qwen3.py`, and the C++ that Inductor writes for it, where the stream is a buffer of `float` that each
//! addition reads and writes. Against goldens of the CPU and of the CUDA engine 12 and 16 of 18 answers are equal; 10 and 10
//! where the stream is rounded after each addition.

use std::sync::Arc;

use kernels::ops::{Pairs, silu};
use kernels::{Matrix, Pool, dot_f32};

use super::hf517_eager::Hf517Eager;
use super::{Context, HeadShape, Numerics, Profile, RotaryTable};
use crate::config::{ComputeType, RopeConfig};
use crate::hidden::Hidden;
use crate::kv::CacheFormat;
use crate::scheduler::Pieces;

/// The profile `vllm025-compiled`.
#[derive(Debug)]
pub(super) struct Vllm025Compiled {
    /// What is the same in both: products, the table of angles, the cache.
    plain: Hf517Eager,
}

impl Vllm025Compiled {
    /// The profile for models of that type.
    pub(super) fn new(pool: Arc<Pool>, compute: ComputeType) -> Self {
        Self { plain: Hf517Eager::new(pool, compute) }
    }

    fn round(&self, value: f32) -> f32 {
        self.plain.round(value)
    }

    /// The values rounded, with what they were before.
    fn rounded(&self, width: usize, unrounded: Vec<f32>) -> Hidden {
        let mut y = Hidden::zeros(unrounded.len() / width.max(1), width);
        y.values_mut().iter_mut().zip(&unrounded).for_each(|(y, x)| *y = self.round(*x));
        y.with_unrounded(unrounded)
    }

    /// One head's attention from one row: scores and softmax in `f32`, the weights rounded for the weighted sum, which is
    /// divided by the sum of the weights as they were.
    fn attend_head(&self, query: &[f32], keys: &[f32], values: &[f32], out: &mut [f32]) {
        let dim = query.len();
        let scale = 1.0 / (dim as f32).sqrt();
        let score = |key: &[f32]| dot_f32(query, key) * scale;
        let mut weights: Vec<f32> = keys.chunks_exact(dim).map(score).collect();
        let highest = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for weight in &mut weights {
            *weight = (*weight - highest).exp();
        }
        let total: f32 = weights.iter().sum();
        out.fill(0.0);
        for (weight, value) in weights.iter().zip(values.chunks_exact(dim)) {
            let weight = self.round(*weight);
            out.iter_mut().zip(value).for_each(|(out, value)| *out += weight * value);
        }
        for out in out {
            *out = self.round(*out / total);
        }
    }
}

impl Numerics for Vllm025Compiled {
    fn profile(&self) -> Profile {
        Profile::Vllm025Compiled
    }

    fn cache_format(&self) -> CacheFormat {
        self.plain.cache_format()
    }

    fn batch_rows(&self) -> usize {
        self.plain.batch_rows()
    }

    fn pieces(&self) -> Pieces {
        self.plain.pieces()
    }

    fn embed(&mut self, table: &Matrix<'_>, ids: &[u32]) -> Hidden {
        self.plain.embed(table, ids)
    }

    fn linear(
        &mut self,
        weight: &Matrix<'_>,
        bias: Option<&[f32]>,
        x: &Hidden,
        sequences: usize,
    ) -> Hidden {
        self.plain.linear(weight, bias, x, sequences)
    }

    fn rms_norm(&mut self, weight: &[f32], eps: f32, x: &Hidden) -> Hidden {
        let mut y = x.fused().to_vec();
        for piece in y.chunks_exact_mut(weight.len()) {
            let squares: f64 = piece.iter().map(|&x| f64::from(x * x)).sum();
            let mean = (squares / piece.len() as f64) as f32;
            let scale = 1.0 / (mean + eps).sqrt();
            piece.iter_mut().zip(weight).for_each(|(x, w)| *x = *x * scale * w);
        }
        self.rounded(x.width(), y)
    }

    fn rotary(&mut self, rope: &RopeConfig, dim: usize, positions: &[usize]) -> RotaryTable {
        self.plain.rotary(rope, dim, positions)
    }

    fn rotate(&mut self, table: &RotaryTable, heads: &mut Hidden) {
        let (width, dim) = (heads.width(), table.dim);
        let mut turned = heads.fused().to_vec();
        for (row, heads) in turned.chunks_exact_mut(width).enumerate() {
            for head in heads.chunks_exact_mut(dim) {
                for (pair, &[cos, sin]) in table.row(row).iter().enumerate() {
                    let (a, b) = match table.pairs {
                        Pairs::Adjacent => (2 * pair, 2 * pair + 1),
                        Pairs::Halves => (pair, pair + dim / 2),
                    };
                    let (x, y) = (head[a], head[b]);
                    head[a] = x * cos - y * sin;
                    head[b] = y * cos + x * sin;
                }
            }
        }
        *heads = self.rounded(width, turned);
    }

    fn attend(&mut self, query: &Hidden, contexts: &[Context<'_>], shape: HeadShape) -> Hidden {
        let each = |query: &[f32], keys: &[f32], values: &[f32], out: &mut [f32]| {
            self.attend_head(query, keys, values, out);
        };
        self.plain.attend_by(query, contexts, shape, &each)
    }

    fn silu_mul(&mut self, gate: &Hidden, up: &Hidden) -> Hidden {
        let pairs = gate.values().iter().zip(up.values());
        self.rounded(gate.width(), pairs.map(|(gate, up)| silu(*gate) * up).collect())
    }

    fn add(&mut self, x: Hidden, y: &Hidden) -> Hidden {
        // What is rounded is what is shown of the stream; the next addition goes on from what it was.
        let sum = x.fused().iter().zip(y.fused()).map(|(x, y)| x + y).collect();
        self.rounded(x.width(), sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Vllm025Compiled {
        Vllm025Compiled::new(Arc::new(Pool::new(1).unwrap()), ComputeType::Bf16)
    }

    fn hidden(values: &[f32]) -> Hidden {
        let mut hidden = Hidden::zeros(1, values.len());
        hidden.values_mut().copy_from_slice(values);
        hidden
    }

    /// Between 1 and 2 bfloat16 counts in steps of 2^-7: 1 + 2^-8 is halfway and rounds to even, which is 1.
    const HALF: f32 = 1.0 / 256.0;

    #[test]
    fn a_norm_sees_the_sum_before_it_was_rounded() {
        let mut profile = profile();
        let sum = profile.add(hidden(&[1.0, 1.0]), &hidden(&[HALF, -HALF]));
        assert_eq!(sum.values(), [1.0, 1.0 - HALF]);
        let normed = profile.rms_norm(&[191.0, 191.0], 0.0, &sum);
        // (1 + 2^-8) * 191 = 191.746, in steps of 1: 192. The stored values give 191.37: 191.
        assert_eq!(normed.values()[..1], [192.0]);
    }

    /// 1 + 2^-8 + 2^-8 is 1 + 2^-7, which bfloat16 has. Rounded after the first addition, to 1, it would stay 1.
    #[test]
    fn the_residual_stream_is_never_rounded() {
        let mut profile = profile();
        let once = profile.add(hidden(&[HALF]), &hidden(&[1.0]));
        assert_eq!(once.values(), [1.0]);
        let twice = profile.add(hidden(&[HALF]), &once);
        assert_eq!(twice.values(), [1.0 + 2.0 * HALF]);
    }

    #[test]
    fn a_written_value_is_all_there_is_of_it() {
        let mut profile = profile();
        let mut sum = profile.add(hidden(&[1.0, 1.0]), &hidden(&[HALF, -HALF]));
        sum.values_mut()[0] = 1.0;
        let of_stored = profile.rms_norm(&[191.0, 191.0], 0.0, &hidden(&[1.0, 1.0 - HALF]));
        let of_written = profile.rms_norm(&[191.0, 191.0], 0.0, &sum);
        assert_eq!(of_written.values(), of_stored.values());
    }

    #[test]
    fn a_gated_product_rounds_once() {
        let mut profile = profile();
        // silu(3) is 2.857722: times 191 it is 545.825, in steps of 4: 544. Rounded first, to 2.859375, it were 546.14: 548.
        assert_eq!(profile.silu_mul(&hidden(&[3.0]), &hidden(&[191.0])).values(), [544.0]);
    }
}
