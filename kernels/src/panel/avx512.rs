//! Tiles with AVX-512 VNNI: the two rows of a panel lie in the two halves of a register.
//!
//! The eight lanes of a half are those of the AVX2 dot product: `vpdpbusd` sums the same four products in a lane that
//! `vpmaddubsw` and `vpmaddwd` do, exactly, and the rest is the same multiplication and fused addition.

use std::arch::x86_64::{
    __m256, __m256i, __m512, __m512i, _mm256_castpd_ps, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm512_broadcast_f32x8, _mm512_broadcast_i64x4, _mm512_castps_pd, _mm512_castps512_ps256,
    _mm512_cvtepi32_ps, _mm512_dpbusd_epi32, _mm512_extractf64x4_pd, _mm512_fmadd_ps,
    _mm512_load_si512, _mm512_mask_mov_ps, _mm512_mul_ps, _mm512_set1_epi8, _mm512_set1_ps,
    _mm512_setzero_ps, _mm512_setzero_si512, _mm512_storeu_ps, _mm512_sub_epi32,
};

use super::{Panel, PanelSpec, TILE_COLUMNS, TILE_ROWS, TileSums};
use crate::activation::ActivationRow;
use crate::dot::avx2;

/// Panels of a tile.
const PANELS: usize = TILE_ROWS / 2;
/// The values of a tile: for each panel and activation row, those of the panel's two rows.
type Tile<const N: usize> = [[[f32; 2]; N]; PANELS];

/// What the tiles of a band share.
pub(crate) struct Band<'a> {
    spec: &'a PanelSpec,
    sums: &'a TileSums,
    blocks: usize,
    panels: [Panel; PANELS],
}

impl<'a> Band<'a> {
    /// A band of rows of `blocks` blocks.
    pub(crate) fn new(spec: &'a PanelSpec, sums: &'a TileSums, blocks: usize) -> Self {
        let panel = || Panel {
            codes: vec![super::Codes([0; 64]); blocks],
            scales: vec![[0.0; 2]; blocks],
            minimums: vec![[0.0; 2]; blocks],
        };
        Self { spec, sums, blocks, panels: std::array::from_fn(|_| panel()) }
    }

    /// Multiplies up to [`TILE_ROWS`] weight rows by all activation rows: `put(row, column, value)`.
    ///
    /// Every weight row and every activation row has the band's number of blocks.
    ///
    /// # Safety
    /// The processor has AVX2, FMA, F16C and AVX-512 F, BW, DQ, VL and VNNI.
    pub(crate) unsafe fn multiply(
        &mut self,
        rows: &[&[u8]],
        x: &[ActivationRow<'_>],
        put: &mut dyn FnMut(usize, usize, f32),
    ) {
        for (index, row) in rows.iter().enumerate().take(TILE_ROWS) {
            // SAFETY: the caller vouches for AVX2, FMA and F16C.
            unsafe { (self.spec.unpack)(row, index % 2, &mut self.panels[index / 2]) };
        }
        for (index, x) in x.chunks(TILE_COLUMNS).enumerate() {
            let mut put = |row: usize, column: usize, value: f32| {
                if row < rows.len() {
                    put(row, index * TILE_COLUMNS + column, value);
                }
            };
            let sums = self.sums.tile(index);
            // SAFETY: the caller vouches for the instructions.
            unsafe {
                match *x {
                    [a] => self.tile([a], sums, &mut put),
                    [a, b] => self.tile([a, b], sums, &mut put),
                    [a, b, c] => self.tile([a, b, c], sums, &mut put),
                    [a, b, c, d] => self.tile([a, b, c, d], sums, &mut put),
                    [a, b, c, d, e] => self.tile([a, b, c, d, e], sums, &mut put),
                    [a, b, c, d, e, f] => self.tile([a, b, c, d, e, f], sums, &mut put),
                    [a, b, c, d, e, f, g] => self.tile([a, b, c, d, e, f, g], sums, &mut put),
                    [a, b, c, d, e, f, g, h] => self.tile([a, b, c, d, e, f, g, h], sums, &mut put),
                    _ => {}
                }
            }
        }
    }

    /// # Safety
    /// As for [`Band::multiply`].
    unsafe fn tile<const N: usize>(
        &self,
        x: [ActivationRow<'_>; N],
        sums: &[[f32; TILE_COLUMNS]],
        put: &mut dyn FnMut(usize, usize, f32),
    ) {
        let x = x.map(|row| Column {
            codes: &row.codes.as_chunks().0[..self.blocks],
            scales: &row.scales[..self.blocks],
        });
        let panels = self.panels.each_ref();
        // SAFETY: the caller vouches for the instructions.
        let tile = unsafe {
            match (self.spec.minimums, self.spec.offset) {
                (true, _) => tile_with_minimums(panels, x, sums),
                (false, offset) => tile_around_zero(panels, x, offset),
            }
        };
        for (panel, columns) in tile.iter().enumerate() {
            for (column, values) in columns.iter().enumerate() {
                put(2 * panel, column, values[0]);
                put(2 * panel + 1, column, values[1]);
            }
        }
    }
}

/// An activation row; codes and scales have as many blocks as the panels.
#[derive(Clone, Copy)]
struct Column<'a> {
    codes: &'a [[i8; 32]],
    scales: &'a [f32],
}

impl Column<'_> {
    /// The codes of a block, in both halves.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]
    fn codes(&self, block: usize) -> __m512i {
        let codes: &[i8; 32] = &self.codes[block];
        // SAFETY: 32 readable bytes; the load needs no alignment.
        let codes: __m256i = unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) };
        _mm512_broadcast_i64x4(codes)
    }
}

impl Panel {
    /// The codes of a block of both rows.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]
    fn codes(&self, block: usize) -> __m512i {
        let codes: &super::Codes = &self.codes[block];
        // SAFETY: 64 readable bytes, aligned by their type.
        unsafe { _mm512_load_si512(codes.0.as_ptr().cast()) }
    }
}

/// The first of two numbers in the lower eight lanes, the second in the upper ones.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]
fn halves(values: [f32; 2]) -> __m512 {
    _mm512_mask_mov_ps(_mm512_set1_ps(values[0]), 0xff00, _mm512_set1_ps(values[1]))
}

/// The sum of each half, in the order of the dot product.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
fn sums_of_halves(acc: __m512) -> [f32; 2] {
    let upper: __m256 = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(acc)));
    [avx2::sum(_mm512_castps512_ps256(acc)), avx2::sum(upper)]
}

/// Codes are weights above `offset`: it is taken off in integers, four codes of the activation at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
fn tile_around_zero<const N: usize>(
    panels: [&Panel; PANELS],
    x: [Column<'_>; N],
    offset: u8,
) -> Tile<N> {
    let offset = _mm512_set1_epi8(offset.cast_signed());
    let mut acc = [[_mm512_setzero_ps(); N]; PANELS];
    for block in 0..panels[0].codes.len() {
        let weights = panels.map(|panel| panel.codes(block));
        let scales = panels.map(|panel| halves(panel.scales[block]));
        for (column, x) in x.iter().enumerate() {
            let codes = x.codes(block);
            let above = _mm512_dpbusd_epi32(_mm512_setzero_si512(), offset, codes);
            let start = _mm512_sub_epi32(_mm512_setzero_si512(), above);
            let scale = _mm512_set1_ps(x.scales[block]);
            for panel in 0..PANELS {
                let products = _mm512_dpbusd_epi32(start, weights[panel], codes);
                let scale = _mm512_mul_ps(scales[panel], scale);
                let acc = &mut acc[panel][column];
                *acc = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(products), *acc);
            }
        }
    }
    acc.map(|columns| columns.map(|acc| sums_of_halves(acc)))
}

/// Codes are weights above their block's minimum, which multiplies the sum of the activation's block.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
fn tile_with_minimums<const N: usize>(
    panels: [&Panel; PANELS],
    x: [Column<'_>; N],
    sums: &[[f32; TILE_COLUMNS]],
) -> Tile<N> {
    let mut acc = [[_mm512_setzero_ps(); N]; PANELS];
    // Lane `c` of a half: the half's row and activation row `c`.
    let mut grounds = [_mm512_setzero_ps(); PANELS];
    for (block, sums) in sums.iter().enumerate().take(panels[0].codes.len()) {
        let weights = panels.map(|panel| panel.codes(block));
        let scales = panels.map(|panel| halves(panel.scales[block]));
        // SAFETY: eight readable numbers; the load needs no alignment.
        let sums = _mm512_broadcast_f32x8(unsafe { _mm256_loadu_ps(sums.as_ptr()) });
        for panel in 0..PANELS {
            let minimums = halves(panels[panel].minimums[block]);
            grounds[panel] = _mm512_fmadd_ps(minimums, sums, grounds[panel]);
        }
        for (column, x) in x.iter().enumerate() {
            let codes = x.codes(block);
            let scale = _mm512_set1_ps(x.scales[block]);
            for panel in 0..PANELS {
                let products = _mm512_dpbusd_epi32(_mm512_setzero_si512(), weights[panel], codes);
                let scale = _mm512_mul_ps(scales[panel], scale);
                let acc = &mut acc[panel][column];
                *acc = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(products), *acc);
            }
        }
    }
    let mut tile = [[[0.0; 2]; N]; PANELS];
    for (panel, columns) in tile.iter_mut().enumerate() {
        let mut ground = [0.0; 2 * TILE_COLUMNS];
        // SAFETY: 16 writable numbers; the store needs no alignment.
        unsafe { _mm512_storeu_ps(ground.as_mut_ptr(), grounds[panel]) };
        for (column, values) in columns.iter_mut().enumerate() {
            let [first, second] = sums_of_halves(acc[panel][column]);
            *values = [first + ground[column], second + ground[TILE_COLUMNS + column]];
        }
    }
    tile
}
