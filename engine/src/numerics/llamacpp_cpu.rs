//! llama.cpp's CPU backend (ggml 0.25.3), in a build with AVX2, FMA and F16C and nothing wider.
//!
//! Activations are `f32` throughout and are quantised only as operands of products with quantised weights.
//! A prompt goes through in batches of 512; a batch of 64 rows or more attends in tiles, a smaller one row
//! by row with half-precision sums. Products take other kernels for batches than for single rows. Sequences
//! that run together are each computed as if alone, as by a server with one slot. Nothing here depends on
//! the number of threads.

use std::sync::Arc;

use half::f16;
use kernels::ops::attention::{self, Rows, TILE, attend_row, attend_tile};
use kernels::ops::{self, Frequencies, Path};
use kernels::{Matrix, Order, Pool, Scratch};

use super::{Context, HeadShape, Numerics, Profile, RotaryTable, gather, product, rotary};
use crate::config::{RopeConfig, RopeScaling};
use crate::hidden::Hidden;
use crate::kv::{CacheFormat, LayerCache, Plane};
use crate::scheduler::Pieces;

/// llama.cpp's default physical batch.
const BATCH_ROWS: usize = 512;
/// llama.cpp repacks, by default, every matrix that it multiplies by and has a repacked kernel for. That
/// includes a tied head, which it loads twice: repacked to multiply, as it is to look tokens up.
const ORDER: Order = Order::LlamaCppRepacked;
/// Values of an element-wise operation handed to a thread at once.
const CHUNK: usize = 8192;

/// The profile `llamacpp-cpu`.
#[derive(Debug)]
pub(super) struct LlamaCppCpu {
    pool: Arc<Pool>,
    path: Path,
    scratch: Scratch,
}

impl LlamaCppCpu {
    /// The profile on the tier of a pool.
    pub(super) fn new(pool: Arc<Pool>) -> kernels::Result<Self> {
        let path = Path::on(pool.tier())?;
        Ok(Self { pool, path, scratch: Scratch::new() })
    }
}

impl Numerics for LlamaCppCpu {
    fn profile(&self) -> Profile {
        Profile::LlamaCppCpu
    }

    fn cache_format(&self) -> CacheFormat {
        CacheFormat::F16
    }

    fn batch_rows(&self) -> usize {
        BATCH_ROWS
    }

    /// The number of a batch's rows chooses kernels and the order of attention.
    fn pieces(&self) -> Pieces {
        Pieces::Of(BATCH_ROWS)
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
        product(&self.pool, ORDER, sequences, weight, bias, x, &mut self.scratch)
    }

    fn rms_norm(&mut self, weight: &[f32], eps: f32, x: &Hidden) -> Hidden {
        let mut y = Hidden::zeros(x.rows(), x.width());
        let width = weight.len();
        self.pool.chunks_mut(y.values_mut(), width, |index, out| {
            let x = &x.values()[index * width..][..width];
            ops::rms_norm(self.path, x, weight, eps, out);
        });
        y
    }

    fn rotary(&mut self, rope: &RopeConfig, dim: usize, positions: &[usize]) -> RotaryTable {
        let scale = match rope.scaling {
            RopeScaling::Linear { factor } => 1.0 / factor,
            _ => 1.0,
        };
        let divisors = rotary::divisors(rope, dim);
        let frequencies = Frequencies { base: rope.base, divisors, scale };
        let mut cos_sin = vec![[0.0; 2]; positions.len() * dim / 2];
        for (row, &position) in cos_sin.chunks_exact_mut(dim / 2).zip(positions) {
            ops::cos_sin_iterated(position, &frequencies, row);
        }
        RotaryTable { cos_sin, dim, pairs: rope.pairs }
    }

    fn rotate(&mut self, table: &RotaryTable, heads: &mut Hidden) {
        let width = heads.width();
        self.pool.chunks_mut(heads.values_mut(), width, |row, heads| {
            for head in heads.chunks_exact_mut(table.dim) {
                ops::rotate(self.path, head, table.row(row), table.pairs);
            }
        });
    }

    fn attend(&mut self, query: &Hidden, contexts: &[Context<'_>], shape: HeadShape) -> Hidden {
        let rows = query.rows() / contexts.len().max(1);
        let task = Attend { path: self.path, query, contexts, rows, shape };
        if rows >= TILE { task.by_tile(&self.pool) } else { task.by_row(&self.pool) }
    }

    fn silu_mul(&mut self, gate: &Hidden, up: &Hidden) -> Hidden {
        let mut y = Hidden::zeros(gate.rows(), gate.width());
        // Whole rows, because a row's last values, short of a register, take another exponential.
        let chunk = gate.width() * (CHUNK / gate.width().max(1)).max(1);
        self.pool.chunks_mut(y.values_mut(), chunk, |index, out| {
            let rows = out.chunks_exact_mut(gate.width()).enumerate();
            for (row, out) in rows {
                let start = index * chunk + row * gate.width();
                let part = |x: &Hidden| start..start + x.width();
                let (gate, up) = (&gate.values()[part(gate)], &up.values()[part(up)]);
                ops::silu_mul(self.path, gate, up, out);
            }
        });
        y
    }

    fn add(&mut self, mut x: Hidden, y: &Hidden) -> Hidden {
        x.values_mut().iter_mut().zip(y.values()).for_each(|(x, y)| *x += y);
        x
    }
}

/// Attention of one batch in one layer.
struct Attend<'a> {
    path: Path,
    query: &'a Hidden,
    contexts: &'a [Context<'a>],
    /// Rows of each sequence.
    rows: usize,
    shape: HeadShape,
}

impl Attend<'_> {
    fn scale(&self) -> f32 {
        1.0 / (self.shape.dim as f32).sqrt()
    }

    /// A sequence's rows of the key head that a query head attends to: its keys and its values.
    fn planes<'a>(&self, context: &Context<'a>, head: usize) -> [Rows<'a, f16>; 2] {
        let offset = self.shape.key_head(head) * self.shape.dim;
        let LayerCache { keys, values, width, pages } = context.cache;
        [keys, values].map(|plane| match plane {
            Plane::F16(plane) => Rows::new(&plane[offset..], width, self.shape.dim).paged(pages),
            _ => unreachable!("this profile keeps its cache in half precision"),
        })
    }

    fn by_row(&self, pool: &Pool) -> Hidden {
        let (heads, dim) = (self.shape.heads, self.shape.dim);
        let mut out = Hidden::zeros(self.query.rows(), self.query.width());
        pool.chunks_mut(out.values_mut(), dim, |index, out| {
            let (row, head) = (index / heads, index % heads);
            let query = &self.query.values()[index * dim..][..dim];
            let context = &self.contexts[row / self.rows];
            let [keys, values] = self.planes(context, head);
            let positions = context.first + row % self.rows + 1;
            attend_row(self.path, query, keys, values, positions, self.scale(), out);
        });
        out
    }

    fn by_tile(&self, pool: &Pool) -> Hidden {
        let (heads, dim, width) = (self.shape.heads, self.shape.dim, self.query.width());
        let tiles = self.rows.div_ceil(TILE);
        // Tiles are written side by side, then put in their places.
        let size = TILE * dim;
        let mut tiled = vec![0.0; self.contexts.len() * tiles * heads * size];
        pool.chunks_mut(&mut tiled, size, |index, out| {
            let (sequence, tile, head) =
                (index / heads / tiles, index / heads % tiles, index % heads);
            let context = &self.contexts[sequence];
            let start = tile * TILE;
            let first_value = (sequence * self.rows + start) * width + head * dim;
            let query = Rows::new(&self.query.values()[first_value..], width, dim);
            let [keys, values] = self.planes(context, head);
            let out = &mut out[..TILE.min(self.rows - start) * dim];
            let mut scratch = attention::Scratch::default();
            let first = context.first + start;
            attend_tile(self.path, query, first, keys, values, self.scale(), &mut scratch, out);
        });
        let mut out = Hidden::zeros(self.query.rows(), width);
        for (row, out) in out.values_mut().chunks_exact_mut(width).enumerate() {
            let (sequence, row) = (row / self.rows, row % self.rows);
            for (head, out) in out.chunks_exact_mut(dim).enumerate() {
                let tile = (sequence * tiles + row / TILE) * heads + head;
                out.copy_from_slice(&tiled[tile * size + (row % TILE) * dim..][..dim]);
            }
        }
        out
    }
}
