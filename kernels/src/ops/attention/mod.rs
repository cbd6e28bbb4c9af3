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
    pages: Option<Pages<'a>>,
}

/// Where rows lie that are kept in pages: row `i` is row `i % 2^shift` of page `table[i / 2^shift]`.
#[derive(Clone, Copy, Debug)]
pub struct Pages<'a> {
    /// The page of each run of rows.
    pub table: &'a [u32],
    /// The binary logarithm of a page's rows.
    pub shift: u32,
}

impl Pages<'_> {
    /// Where row `index` lies among the rows of all pages.
    pub fn place(&self, index: usize) -> usize {
        let within = index & ((1 << self.shift) - 1);
        ((self.table[index >> self.shift] as usize) << self.shift) + within
    }
}

impl<'a, T> Rows<'a, T> {
    /// `data` starts with the first row; every row but the first starts `stride` after the one before.
    pub fn new(data: &'a [T], stride: usize, width: usize) -> Self {
        Self { data, stride, width, pages: None }
    }

    /// The same rows, where they lie in pages of `data`.
    #[must_use]
    pub fn paged(self, pages: Pages<'a>) -> Self {
        Self { pages: Some(pages), ..self }
    }

    /// Row `index`, `width` values.
    pub fn row(&self, index: usize) -> &'a [T] {
        let at = self.pages.map_or(index, |pages| pages.place(index));
        &self.data[at * self.stride..][..self.width]
    }

    /// Values in one row.
    pub fn width(&self) -> usize {
        self.width
    }
}

#[cfg(test)]
mod tests;
