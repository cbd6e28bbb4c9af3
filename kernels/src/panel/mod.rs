//! Products with many activation rows, for formats of 32 weights a block.
//!
//! A dot product alone waits for its one accumulator, and unpacks its weights for a single activation row. A panel is two
//! weight rows, unpacked once into bytes, scales and minimums; tiles of two panels and up to eight activation rows are
//! summed side by side. Every value is still summed in the order of the format's dot product, so its bits are the same.

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::activation::Activations;

/// Activation rows of a tile.
pub(crate) const TILE_COLUMNS: usize = 8;
/// Weight rows of a tile: two panels.
pub(crate) const TILE_ROWS: usize = 4;

/// How a format's rows are unpacked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PanelSpec {
    /// What an unpacked code is above the weight it stands for.
    pub(crate) offset: u8,
    /// Whether blocks have minimums.
    pub(crate) minimums: bool,
    /// Unpacks a row; see [`VectorUnpack`].
    #[cfg(target_arch = "x86_64")]
    pub(crate) unpack: VectorUnpack,
}

/// Unpacks a row of blocks into one side (0 or 1) of a panel that is as long, with AVX2, FMA and F16C.
pub(crate) type VectorUnpack = unsafe fn(&[u8], usize, &mut Panel);

/// The codes of one block of two rows, the first row's first.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Codes(pub(crate) [u8; 64]);

/// Two unpacked weight rows.
#[derive(Debug, Default)]
pub(crate) struct Panel {
    pub(crate) codes: Vec<Codes>,
    pub(crate) scales: Vec<[f32; 2]>,
    pub(crate) minimums: Vec<[f32; 2]>,
}

/// Defines `fn NAME`, a [`VectorUnpack`] of blocks of some bytes: the scale, and where there is one the minimum, are the
/// half-precision numbers that they begin with, and `$codes` makes 32 unsigned bytes of a block.
macro_rules! unpack_rows {
    ($name:ident, $bytes:expr, $codes:expr) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        fn $name(row: &[u8], side: usize, panel: &mut $crate::panel::Panel) {
            let blocks = row.as_chunks::<{ $bytes }>().0.iter();
            let parts = panel.codes.iter_mut().zip(&mut panel.scales).zip(&mut panel.minimums);
            for (block, ((codes, scales), minimums)) in blocks.zip(parts) {
                [scales[side], minimums[side]] = $crate::dot::avx2::halves_at(block, 0);
                $crate::dot::avx2::store_32(&mut codes.0, 32 * side, $codes(block));
            }
        }
    };
}
pub(crate) use unpack_rows;

/// The sums of Q8_1 activation rows in the order in which tiles read them: a block of [`TILE_COLUMNS`] rows at a time.
#[derive(Debug, Default)]
pub(crate) struct TileSums {
    blocks: usize,
    sums: Vec<[f32; TILE_COLUMNS]>,
}

impl TileSums {
    /// Takes the sums of `n` rows of `blocks` blocks; those of rows that a last tile lacks are zero.
    pub(crate) fn fill(&mut self, activations: &Activations, n: usize, blocks: usize) {
        self.blocks = blocks;
        self.sums.clear();
        self.sums.resize(n.div_ceil(TILE_COLUMNS) * blocks, [0.0; TILE_COLUMNS]);
        for row in 0..n {
            let tile = &mut self.sums[row / TILE_COLUMNS * blocks..][..blocks];
            for (tile, sum) in tile.iter_mut().zip(activations.row(row).sums) {
                tile[row % TILE_COLUMNS] = *sum;
            }
        }
    }

    /// Those of tile `index`, block after block.
    fn tile(&self, index: usize) -> &[[f32; TILE_COLUMNS]] {
        self.sums.get(index * self.blocks..).and_then(|sums| sums.get(..self.blocks)).unwrap_or(&[])
    }
}

/// A band of weight rows times all activation rows.
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Band;
