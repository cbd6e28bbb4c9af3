//! Products with many activation rows, for formats of 32 weights a block.
//!
//! A dot product alone waits for its one accumulator, and unpacks its weights for a single activation row. A panel is two
//! weight rows, unpacked once into bytes, scales and minimums; tiles of two panels and up to eight activation rows are
//! summed side by side. Every value is still summed in the order of the format's dot product, so its bits are the same; but for
//! activation codes of -128, which no finite value has, and which do not come here.

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::activation::Activations;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Band;

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
pub(crate) type VectorUnpack = unsafe fn(&[u8], usize, &mut [PanelBlock]);

/// One block of two weight rows.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct PanelBlock {
    /// The codes, the first row's first.
    pub(crate) codes: [u8; 64],
    /// Each row's scale, in as many lanes as its codes take.
    pub(crate) scales: [[f32; 8]; 2],
    /// Each row's minimum likewise; noise where the format has none.
    pub(crate) minimums: [[f32; 8]; 2],
}

impl PanelBlock {
    /// Nothing yet.
    pub(crate) const EMPTY: Self =
        Self { codes: [0; 64], scales: [[0.0; 8]; 2], minimums: [[0.0; 8]; 2] };
}

/// Defines `fn NAME`, a [`VectorUnpack`] of blocks of some bytes: the scale, and where there is one the minimum, are the
/// half-precision numbers that they begin with, and `$codes` makes 32 unsigned bytes of a block.
macro_rules! unpack_rows {
    ($name:ident, $bytes:expr, $codes:expr) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        fn $name(row: &[u8], side: usize, panel: &mut [$crate::panel::PanelBlock]) {
            for (block, panel) in row.as_chunks::<{ $bytes }>().0.iter().zip(panel) {
                let [scale, minimum] = $crate::dot::avx2::halves_at(block, 0);
                panel.scales[side] = [scale; 8];
                panel.minimums[side] = [minimum; 8];
                $crate::dot::avx2::store_32(&mut panel.codes, 32 * side, $codes(block));
            }
        }
    };
}
pub(crate) use unpack_rows;

/// One block of the activation rows of a tile.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct TileBlock {
    pub(crate) codes: [[i8; 32]; TILE_COLUMNS],
    pub(crate) scales: [f32; TILE_COLUMNS],
    /// Q8_1: the scale times the sum of the codes.
    pub(crate) sums: [f32; TILE_COLUMNS],
}

/// Activation rows in the order in which tiles read them: [`TILE_COLUMNS`] of them, block after block.
#[derive(Debug, Default)]
pub(crate) struct Tiles {
    blocks: Vec<TileBlock>,
}

impl Tiles {
    /// Takes `n` rows of `blocks` blocks of 32 codes. Rows that a last tile lacks are zero.
    pub(crate) fn fill(&mut self, activations: &Activations, n: usize, blocks: usize) {
        const EMPTY: TileBlock = TileBlock {
            codes: [[0; 32]; TILE_COLUMNS],
            scales: [0.0; TILE_COLUMNS],
            sums: [0.0; TILE_COLUMNS],
        };
        self.blocks.clear();
        self.blocks.resize(n.div_ceil(TILE_COLUMNS) * blocks, EMPTY);
        for index in 0..n {
            let (row, column) = (activations.row(index), index % TILE_COLUMNS);
            let tile = &mut self.blocks[index / TILE_COLUMNS * blocks..][..blocks];
            for (i, block) in tile.iter_mut().enumerate() {
                block.codes[column] = row.codes.as_chunks().0[i];
                block.scales[column] = row.scales[i];
                block.sums[column] = row.sums.get(i).copied().unwrap_or_default();
            }
        }
    }

    /// The tiles, of `blocks` blocks each.
    pub(crate) fn tiles(&self, blocks: usize) -> impl Iterator<Item = &[TileBlock]> {
        self.blocks.chunks_exact(blocks.max(1))
    }
}
