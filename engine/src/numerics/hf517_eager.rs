//! Hugging Face transformers 5.17 with `attn_implementation="eager"`, on the CPU.
//!
//! Every operation of the module graph gives a tensor of the model's type, so that a bfloat16 model rounds
//! after each of them: twice in a norm, three times in a rotation, and both scores and weights in attention.
//! Inside an operation torch computes in `f32`. Its order of summation is a library's and varies with shape
//! and machine; this profile does not copy it, and agrees to within a few units of the last place.

use std::sync::Arc;

use half::bf16;
use kernels::ops::Pairs;
use kernels::ops::silu;
use kernels::{Matrix, Order, Pool, Scratch, dot_f32};

use super::{Context, HeadShape, Numerics, Profile, RotaryTable, gather, product, rotary};
use crate::config::{ComputeType, RopeConfig};
use crate::hidden::Hidden;
use crate::kv::{CacheFormat, Plane};
use crate::scheduler::Pieces;

/// The profile `hf517-eager`.
#[derive(Debug)]
pub(super) struct Hf517Eager {
    pool: Arc<Pool>,
    compute: ComputeType,
    scratch: Scratch,
}

impl Hf517Eager {
    /// The profile for models of that type.
    pub(super) fn new(pool: Arc<Pool>, compute: ComputeType) -> Self {
        Self { pool, compute, scratch: Scratch::new() }
    }

    /// Rounds a value to the model's type.
    pub(super) fn round(&self, value: f32) -> f32 {
        match self.compute {
            ComputeType::F32 => value,
            ComputeType::Bf16 => bf16::from_f32(value).to_f32(),
        }
    }

    fn round_all(&self, values: &mut [f32]) {
        for value in values {
            *value = self.round(*value);
        }
    }

    /// One head's attention from one row: scores, softmax in `f32`, weighted sum, each rounded.
    fn attend_head(&self, query: &[f32], keys: &[f32], values: &[f32], out: &mut [f32]) {
        let dim = query.len();
        // A number of Python's beside a tensor is not rounded to the tensor's type.
        let scale = 1.0 / (dim as f32).sqrt();
        let score = |key: &[f32]| self.round(self.round(dot_f32(query, key)) * scale);
        let mut weights: Vec<f32> = keys.chunks_exact(dim).map(score).collect();
        let highest = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for weight in &mut weights {
            *weight = (*weight - highest).exp();
        }
        let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        out.fill(0.0);
        for (weight, value) in weights.iter().zip(values.chunks_exact(dim)) {
            let weight = self.round(weight / total as f32);
            out.iter_mut().zip(value).for_each(|(out, value)| *out += weight * value);
        }
        self.round_all(out);
    }

    /// Attention of all rows, one head of one row by `attend_head`.
    pub(super) fn attend_by(
        &self,
        query: &Hidden,
        contexts: &[Context<'_>],
        shape: HeadShape,
        attend_head: &(impl Fn(&[f32], &[f32], &[f32], &mut [f32]) + Sync),
    ) -> Hidden {
        let mut out = Hidden::zeros(query.rows(), query.width());
        let each = query.values().len() / contexts.len().max(1);
        let sequences = out.values_mut().chunks_exact_mut(each).zip(query.values().chunks(each));
        for ((out, query), context) in sequences.zip(contexts) {
            self.attend_sequence(query, context, shape, attend_head, out);
        }
        out
    }

    /// The attention of one sequence's rows.
    fn attend_sequence(
        &self,
        query: &[f32],
        context: &Context<'_>,
        shape: HeadShape,
        attend_head: &(impl Fn(&[f32], &[f32], &[f32], &mut [f32]) + Sync),
        out: &mut [f32],
    ) {
        let (Context { cache, first }, HeadShape { heads, dim, .. }) = (*context, shape);
        let positions = first + query.len() / (heads * dim);
        let gathered = |plane: &Plane, key_head: usize| {
            let mut rows = vec![0.0; positions * dim];
            for (position, row) in rows.chunks_exact_mut(dim).enumerate() {
                cache.read(plane, position, key_head * dim, row);
            }
            rows
        };
        for key_head in 0..shape.key_value_heads {
            let keys = gathered(cache.keys, key_head);
            let values = gathered(cache.values, key_head);
            self.pool.chunks_mut(out, dim, |index, out| {
                let (row, head) = (index / heads, index % heads);
                if shape.key_head(head) == key_head {
                    let seen = (first + row + 1) * dim;
                    let query = &query[index * dim..][..dim];
                    attend_head(query, &keys[..seen], &values[..seen], out);
                }
            });
        }
    }
}

impl Numerics for Hf517Eager {
    fn profile(&self) -> Profile {
        Profile::Hf517Eager
    }

    fn cache_format(&self) -> CacheFormat {
        match self.compute {
            ComputeType::F32 => CacheFormat::F32,
            ComputeType::Bf16 => CacheFormat::Bf16,
        }
    }

    fn batch_rows(&self) -> usize {
        usize::MAX
    }

    /// Every value of a row is computed from that row and the cache alone, in an order that is always the same.
    fn pieces(&self) -> Pieces {
        Pieces::Any
    }

    fn embed(&mut self, table: &Matrix<'_>, ids: &[u32]) -> Hidden {
        gather(table, ids)
    }

    fn linear(
        &mut self,
        weight: &Matrix<'_>,
        bias: Option<&[f32]>,
        x: &Hidden,
        sequences: usize,
    ) -> Hidden {
        let mut y = product(&self.pool, Order::Dot, sequences, weight, bias, x, &mut self.scratch);
        self.round_all(y.values_mut());
        y
    }

    fn rms_norm(&mut self, weight: &[f32], eps: f32, x: &Hidden) -> Hidden {
        let mut y = x.clone();
        for piece in y.values_mut().chunks_exact_mut(weight.len()) {
            let squares: f64 = piece.iter().map(|&x| f64::from(x * x)).sum();
            let mean = (squares / piece.len() as f64) as f32;
            let scale = 1.0 / (mean + eps).sqrt();
            for (x, w) in piece.iter_mut().zip(weight) {
                *x = self.round(w * self.round(*x * scale));
            }
        }
        y
    }

    fn rotary(&mut self, rope: &RopeConfig, dim: usize, positions: &[usize]) -> RotaryTable {
        let frequencies = rotary::inverse_frequencies(rope, dim);
        let mut cos_sin = Vec::with_capacity(positions.len() * dim / 2);
        for &position in positions {
            cos_sin.extend(frequencies.iter().map(|frequency| {
                let angle = frequency * position as f32;
                [self.round(angle.cos()), self.round(angle.sin())]
            }));
        }
        RotaryTable { cos_sin, dim, pairs: rope.pairs }
    }

    fn rotate(&mut self, table: &RotaryTable, heads: &mut Hidden) {
        let (width, dim) = (heads.width(), table.dim);
        for (row, heads) in heads.values_mut().chunks_exact_mut(width).enumerate() {
            for head in heads.chunks_exact_mut(dim) {
                for (pair, &[cos, sin]) in table.row(row).iter().enumerate() {
                    let (a, b) = match table.pairs {
                        Pairs::Adjacent => (2 * pair, 2 * pair + 1),
                        Pairs::Halves => (pair, pair + dim / 2),
                    };
                    let (x, y) = (head[a], head[b]);
                    head[a] = self.round(self.round(x * cos) + self.round(-y * sin));
                    head[b] = self.round(self.round(y * cos) + self.round(x * sin));
                }
            }
        }
    }

    fn attend(&mut self, query: &Hidden, contexts: &[Context<'_>], shape: HeadShape) -> Hidden {
        let each = |query: &[f32], keys: &[f32], values: &[f32], out: &mut [f32]| {
            self.attend_head(query, keys, values, out);
        };
        self.attend_by(query, contexts, shape, &each)
    }

    fn silu_mul(&mut self, gate: &Hidden, up: &Hidden) -> Hidden {
        let mut y = gate.clone();
        for (gate, up) in y.values_mut().iter_mut().zip(up.values()) {
            *gate = self.round(self.round(silu(*gate)) * up);
        }
        y
    }

    fn add(&mut self, mut x: Hidden, y: &Hidden) -> Hidden {
        x.values_mut().iter_mut().zip(y.values()).for_each(|(x, y)| *x = self.round(*x + y));
        x
    }
}
