//! Causal self-attention, `softmax(q k^T * scale) v`, of one head.
//!
//! ggml has two orders of summation for it, and which one a query row takes depends on how many rows
//! the batch has: [`attend_row`] walks the keys one by one and accumulates in half precision;
//! [`attend_tile`] takes up to [`TILE`] query rows against [`TILE`] keys at a time, in `f32`.

mod row;
mod tile;

pub use row::attend_row;
pub use tile::{Scratch, attend_tile};

/// Query rows, and keys, of one tile. A batch with fewer query rows goes row by row.
pub const TILE: usize = 64;

/// Equal pieces of a buffer, one every `stride` values: for instance one head's part of every token.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    data: &'a [T],
    stride: usize,
    width: usize,
}

impl<'a, T> Rows<'a, T> {
    /// `data` starts with the first row; every row but the first starts `stride` after the one before.
    pub fn new(data: &'a [T], stride: usize, width: usize) -> Self {
        Self { data, stride, width }
    }

    /// Row `index`, `width` values.
    pub fn row(&self, index: usize) -> &'a [T] {
        &self.data[index * self.stride..][..self.width]
    }

    /// Values in one row.
    pub fn width(&self) -> usize {
        self.width
    }
}

#[cfg(test)]
mod tests;
