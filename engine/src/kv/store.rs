//! The rows of keys and values.
//!
//! One plane a layer for keys and one for values: blocks of rows, a row a position. A sequence's positions lie where its block
//! table says. Everything that reads goes through [`LayerCache`].

use half::{bf16, f16};
use kernels::ops::attention::Pages;

use super::BlockSize;

/// How keys and values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheFormat {
    /// IEEE half: llama.cpp's default.
    F16,
    /// bfloat16: the activations of a bfloat16 model, unchanged.
    Bf16,
    /// IEEE single.
    F32,
}

impl CacheFormat {
    /// Bytes of a value.
    pub fn bytes(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
        }
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
        }
    }
}

/// Rows of one layer's keys or values.
#[derive(Debug)]
pub enum Plane {
    /// In half precision.
    F16(Vec<f16>),
    /// In bfloat16.
    Bf16(Vec<bf16>),
    /// In single precision.
    F32(Vec<f32>),
}

/// Keys and values of all layers, in blocks.
#[derive(Debug)]
pub struct Store {
    /// Keys and values of each layer.
    layers: Vec<[Plane; 2]>,
    format: CacheFormat,
    /// Values in a row: all key heads, or all value heads.
    width: usize,
    size: BlockSize,
    blocks: usize,
}

/// What one sequence has in one layer.
#[derive(Clone, Copy, Debug)]
pub struct LayerCache<'a> {
    /// Keys of all blocks, `[rows][width]`.
    pub keys: &'a Plane,
    /// Values of all blocks, `[rows][width]`.
    pub values: &'a Plane,
    /// Values in a row.
    pub width: usize,
    /// Where the sequence's positions lie.
    pub pages: Pages<'a>,
}

impl Store {
    /// Room for `blocks` blocks. The system gives memory as blocks are first written.
    pub fn new(
        format: CacheFormat,
        layers: usize,
        width: usize,
        size: BlockSize,
        blocks: usize,
    ) -> Self {
        let values = blocks * size.positions() * width;
        let planes = || [Plane::zeroed(format, values), Plane::zeroed(format, values)];
        Self { layers: (0..layers).map(|_| planes()).collect(), format, width, size, blocks }
    }

    /// How the rows are kept.
    pub fn format(&self) -> CacheFormat {
        self.format
    }

    /// The positions of a block.
    pub fn block_size(&self) -> BlockSize {
        self.size
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Writes rows of keys and values of one layer, rounded to the store's format, to the positions of a sequence from `first`
    /// on.
    pub fn write(
        &mut self,
        layer: usize,
        table: &[u32],
        first: usize,
        keys: &[f32],
        values: &[f32],
    ) {
        let (width, pages) = (self.width, Pages { table, shift: self.size.shift() });
        for (plane, rows) in self.layers[layer].iter_mut().zip([keys, values]) {
            for (position, row) in (first..).zip(rows.chunks_exact(width)) {
                plane.write(pages.place(position) * width, row);
            }
        }
    }

    /// One layer's keys and values of the sequence with that block table.
    pub fn layer<'a>(&'a self, layer: usize, table: &'a [u32]) -> LayerCache<'a> {
        let [keys, values] = &self.layers[layer];
        let pages = Pages { table, shift: self.size.shift() };
        LayerCache { keys, values, width: self.width, pages }
    }
}

impl LayerCache<'_> {
    /// `out.len()` values of a plane's row for `position`, from value `start` of the row on, as `f32`; the conversion is exact.
    pub fn read(&self, plane: &Plane, position: usize, start: usize, out: &mut [f32]) {
        plane.read(self.pages.place(position) * self.width + start, out);
    }
}

impl Plane {
    fn zeroed(format: CacheFormat, values: usize) -> Self {
        match format {
            CacheFormat::F16 => Self::F16(bytemuck::zeroed_vec(values)),
            CacheFormat::Bf16 => Self::Bf16(bytemuck::zeroed_vec(values)),
            CacheFormat::F32 => Self::F32(bytemuck::zeroed_vec(values)),
        }
    }

    fn write(&mut self, start: usize, row: &[f32]) {
        let range = start..start + row.len();
        match self {
            Self::F16(plane) => {
                for (place, &value) in plane[range].iter_mut().zip(row) {
                    *place = f16::from_f32(value);
                }
            }
            Self::Bf16(plane) => {
                for (place, &value) in plane[range].iter_mut().zip(row) {
                    *place = bf16::from_f32(value);
                }
            }
            Self::F32(plane) => plane[range].copy_from_slice(row),
        }
    }

    fn read(&self, start: usize, out: &mut [f32]) {
        let end = start + out.len();
        match self {
            Self::F16(plane) => {
                for (out, value) in out.iter_mut().zip(&plane[start..end]) {
                    *out = value.to_f32();
                }
            }
            Self::Bf16(plane) => {
                for (out, value) in out.iter_mut().zip(&plane[start..end]) {
                    *out = value.to_f32();
                }
            }
            Self::F32(plane) => out.copy_from_slice(&plane[start..end]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CacheFormat, Store};
    use crate::kv::BlockSize;

    #[test]
    fn rows_are_read_where_they_were_written_rounded() {
        for (format, rounded) in [
            (CacheFormat::F16, 0.099_975_586),
            (CacheFormat::Bf16, 0.100_097_656),
            (CacheFormat::F32, 0.1),
        ] {
            let size = BlockSize::of(2).unwrap();
            let mut store = Store::new(format, 2, 3, size, 4);
            let (table, other) = ([3, 1], [0, 2]);
            store.write(1, &other, 0, &[9.0; 12], &[9.0; 12]);
            store.write(1, &table, 1, &[1.0, 2.0, 3.0, 0.1, 5.0, 6.0], &[0.0; 6]);
            let layer = store.layer(1, &table);
            let read = |position| {
                let mut out = [0.0; 3];
                layer.read(layer.keys, position, 0, &mut out);
                out
            };
            assert_eq!(
                [read(0), read(1), read(2)],
                [[0.0; 3], [1.0, 2.0, 3.0], [rounded, 5.0, 6.0]]
            );
        }
    }
}
