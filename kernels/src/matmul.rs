//! Weights times activations: one dot product per weight row and activation row.
//!
//! Each output value is computed whole by one thread with one kernel, so neither the number of threads nor the number of
//! activation rows can change a bit of it (but for the orders of llama.cpp, in which the second chooses the kernel).

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::activation::Activations;
use crate::dot::{Dot, Order};
use crate::error::{Error, Result, expect_len};
use crate::format::{Format, dequantize_row};
#[cfg(target_arch = "x86_64")]
use crate::panel::Band;
use crate::panel::{TILE_COLUMNS, TILE_ROWS, Tiles};
use crate::pool::Pool;

/// A weight matrix as it lies in a checkpoint: `rows` rows of `cols` values, row after row.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    format: Format,
    rows: usize,
    cols: usize,
    row_bytes: usize,
    bytes: &'a [u8],
}

impl<'a> Matrix<'a> {
    /// Views `bytes` as a matrix; an error unless it has exactly that size.
    pub fn new(format: Format, rows: usize, cols: usize, bytes: &'a [u8]) -> Result<Matrix<'a>> {
        let row_bytes = format.row_bytes(cols)?;
        let expected = row_bytes.checked_mul(rows).ok_or(Error::TooLarge { rows, cols })?;
        expect_len("the matrix", "bytes", expected, bytes.len())?;
        Ok(Matrix { format, rows, cols, row_bytes, bytes })
    }

    /// The format of its rows.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Rows: the width of the output.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns: the width of the input.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The bytes it views.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Writes row `index` to `out` as f32: the embedding lookup. `index` is below [`Matrix::rows`].
    pub fn gather(&self, index: usize, out: &mut [f32]) -> Result<()> {
        expect_len("the gathered row", "values", self.cols, out.len())?;
        dequantize_row(self.format, self.row(index), out)
    }

    fn row(&self, index: usize) -> &'a [u8] {
        &self.bytes[index * self.row_bytes..][..self.row_bytes]
    }
}

/// The quantised activations of a product, kept so that the next product allocates nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    activations: Activations,
    tiles: Tiles,
}

impl Scratch {
    /// An empty scratch; it grows to the largest product it serves.
    pub fn new() -> Scratch {
        Scratch::default()
    }
}

/// `out[n, rows] = x[n, cols] * weights[rows, cols]` transposed, on the compressed blocks.
///
/// `x` is quantised to the format's activation (see [`crate::Activation`]), one row once. `n` follows from the length of
/// `x`. The threads of `pool` share the rows of `weights`.
pub fn matmul(
    pool: &Pool,
    weights: &Matrix<'_>,
    x: &[f32],
    out: &mut [f32],
    scratch: &mut Scratch,
) -> Result<()> {
    matmul_in_order(pool, Order::Dot, 1, weights, x, out, scratch)
}

/// [`matmul`] with its f32 sums in `order`, for `x` of whole batches of `batch` rows, each as llama.cpp multiplies it.
///
/// But for [`Order::Dot`] the bits depend on `batch`, as llama.cpp's do; never on how many batches there are.
pub fn matmul_in_order(
    pool: &Pool,
    order: Order,
    batch: usize,
    weights: &Matrix<'_>,
    x: &[f32],
    out: &mut [f32],
    scratch: &mut Scratch,
) -> Result<()> {
    let n = x.len().checked_div(weights.cols).unwrap_or(0);
    let shape = [batch, weights.rows, weights.cols];
    let dot = Dot::for_batch(weights.format, pool.tier(), order, shape)?;
    expect_len("the input", "values", n * weights.cols, x.len())?;
    expect_len("the input", "rows", n.next_multiple_of(batch.max(1)), n)?;
    expect_len("the output", "values", n * weights.rows, out.len())?;
    let kind = weights.format.spec().activation;
    scratch.activations.fill(kind, x, weights.cols, pool.tier());
    // Threads take bands of rows; with several activation rows the outputs of a band are not contiguous, and a relaxed
    // atomic store is a plain store that every thread may do.
    let out = shared(out);
    let put = |row: usize, i: usize, value: f32| {
        out[i * weights.rows + row].store(value.to_bits(), Ordering::Relaxed);
    };
    match dot.panel() {
        #[cfg(target_arch = "x86_64")]
        Some(spec) if n > 1 && !scratch.activations.has_least_code() => {
            let blocks = weights.cols / weights.format.block_len();
            scratch.tiles.fill(&scratch.activations, n, blocks);
            bands(pool, weights, TILE_ROWS, |rows| {
                let mut band = Band::new(spec, blocks);
                for first in rows.clone().step_by(TILE_ROWS) {
                    let rows = first..(first + TILE_ROWS).min(rows.end);
                    // SAFETY: a `Dot` has a panel only where its tier has these instructions.
                    unsafe { band.unpack(rows.clone().map(|row| weights.row(row))) };
                    for (tile, x) in scratch.tiles.tiles(blocks).enumerate() {
                        let columns = TILE_COLUMNS * tile..(TILE_COLUMNS * (tile + 1)).min(n);
                        // SAFETY: as above.
                        let values = unsafe { band.multiply(x, columns.len()) };
                        for (row, values) in rows.clone().zip(values) {
                            columns.clone().zip(values).for_each(|(i, value)| put(row, i, value));
                        }
                    }
                }
            });
        }
        _ => {
            let x: Vec<_> = (0..n).map(|i| scratch.activations.row(i)).collect();
            bands(pool, weights, 1, |rows| {
                for row in rows {
                    let bytes = weights.row(row);
                    for (i, x) in x.iter().enumerate() {
                        put(row, i, dot.call(bytes, i % batch, *x));
                    }
                }
            });
        }
    }
    Ok(())
}

/// Hands the rows of `weights` to the threads in bands of a multiple of `step`: about 16 KiB of weights, and at least four
/// bands a thread where that is possible.
fn bands(pool: &Pool, weights: &Matrix<'_>, step: usize, body: impl Fn(Range<usize>) + Sync) {
    let by_size = (16 * 1024 / weights.row_bytes.max(1)).max(4);
    let rows = by_size.min(weights.rows.div_ceil(4 * pool.threads()));
    let band = rows.next_multiple_of(step).max(1);
    pool.run(weights.rows.div_ceil(band), &|index| {
        body(index * band..((index + 1) * band).min(weights.rows));
    });
}

/// The output as cells that threads may write.
fn shared(out: &mut [f32]) -> &[AtomicU32] {
    // SAFETY: AtomicU32 has the size and the alignment of f32, any bit pattern is valid for both, and the exclusive
    // borrow of `out` lasts as long as the result.
    unsafe { std::slice::from_raw_parts(out.as_mut_ptr().cast(), out.len()) }
}
