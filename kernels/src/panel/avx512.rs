//! Tiles with AVX-512 VNNI: the two rows of a panel lie in the two halves of a register.
//!
//! The eight lanes of a half are those of the AVX2 dot product: `vpdpbusd` sums the same four products in a lane that
//! `vpmaddubsw` and `vpmaddwd` do, exactly, and the rest is the same multiplication and fused addition.

use std::arch::x86_64::{
    __m256, __m512, __m512i, _mm256_castpd_ps, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm512_broadcast_f32x8, _mm512_broadcast_i64x4, _mm512_castps_pd, _mm512_castps512_ps256,
    _mm512_cvtepi32_ps, _mm512_dpbusd_epi32, _mm512_extractf64x4_pd, _mm512_fmadd_ps,
    _mm512_loadu_ps, _mm512_loadu_si512, _mm512_mul_ps, _mm512_set1_epi8, _mm512_set1_ps,
    _mm512_setzero_ps, _mm512_setzero_si512, _mm512_storeu_ps, _mm512_sub_epi32,
};

use super::{PanelBlock, PanelSpec, TILE_COLUMNS, TILE_ROWS, TileBlock};
use crate::dot::avx2;

/// Panels of a tile.
const PANELS: usize = TILE_ROWS / 2;
/// The values of a tile, a weight row after the other.
pub(crate) type Values = [[f32; TILE_COLUMNS]; TILE_ROWS];

/// Up to [`TILE_ROWS`] weight rows at a time, unpacked.
pub(crate) struct Band<'a> {
    spec: &'a PanelSpec,
    panels: [Vec<PanelBlock>; PANELS],
}

impl<'a> Band<'a> {
    /// Room for rows of `blocks` blocks.
    pub(crate) fn new(spec: &'a PanelSpec, blocks: usize) -> Self {
        Self { spec, panels: std::array::from_fn(|_| vec![PanelBlock::EMPTY; blocks]) }
    }

    /// Unpacks weight rows of as many blocks. Where they are fewer than a tile holds, the others stay what they were.
    ///
    /// # Safety
    /// The processor has AVX2, FMA and F16C.
    pub(crate) unsafe fn unpack<'r>(&mut self, rows: impl Iterator<Item = &'r [u8]>) {
        for (index, row) in rows.take(TILE_ROWS).enumerate() {
            // SAFETY: the caller vouches for the instructions.
            unsafe { (self.spec.unpack)(row, index % 2, &mut self.panels[index / 2]) };
        }
    }

    /// The weight rows times the first `columns` activation rows of a tile of as many blocks; the other columns are noise.
    ///
    /// # Safety
    /// The processor has AVX2, FMA, F16C and AVX-512 F, BW, DQ, VL and VNNI.
    pub(crate) unsafe fn multiply(&self, tile: &[TileBlock], columns: usize) -> Values {
        // Fewer columns than a tile holds are common only where one request is left: 2, 4 and 8 do.
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            match (self.spec.minimums, columns) {
                (true, ..=2) => self.with_minimums::<2>(tile),
                (true, 3..=4) => self.with_minimums::<4>(tile),
                (true, _) => self.with_minimums::<TILE_COLUMNS>(tile),
                (false, ..=2) => self.around_zero::<2>(tile),
                (false, 3..=4) => self.around_zero::<4>(tile),
                (false, _) => self.around_zero::<TILE_COLUMNS>(tile),
            }
        }
    }

    /// Codes are weights above `offset`: it is taken off in integers, four codes of the activation at a time.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
    fn around_zero<const N: usize>(&self, tile: &[TileBlock]) -> Values {
        let offset = _mm512_set1_epi8(self.spec.offset.cast_signed());
        let mut acc = [[_mm512_setzero_ps(); N]; PANELS];
        let [first, second] = &self.panels;
        for ((first, second), x) in first.iter().zip(second).zip(tile) {
            let weights = [codes_of_panel(first), codes_of_panel(second)];
            let scales = [halves(&first.scales), halves(&second.scales)];
            for column in 0..N {
                let codes = codes_of_column(x, column);
                let above = _mm512_dpbusd_epi32(_mm512_setzero_si512(), offset, codes);
                let start = _mm512_sub_epi32(_mm512_setzero_si512(), above);
                let scale = _mm512_set1_ps(x.scales[column]);
                for panel in 0..PANELS {
                    let products = _mm512_dpbusd_epi32(start, weights[panel], codes);
                    let scale = _mm512_mul_ps(scales[panel], scale);
                    let acc = &mut acc[panel][column];
                    *acc = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(products), *acc);
                }
            }
        }
        values_of(&acc)
    }

    /// Codes are weights above their block's minimum, which multiplies the sum of the activation's block.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
    fn with_minimums<const N: usize>(&self, tile: &[TileBlock]) -> Values {
        let mut acc = [[_mm512_setzero_ps(); N]; PANELS];
        // Lane `c` of a half: the half's row and activation row `c`.
        let mut grounds = [_mm512_setzero_ps(); PANELS];
        let [first, second] = &self.panels;
        for ((first, second), x) in first.iter().zip(second).zip(tile) {
            let weights = [codes_of_panel(first), codes_of_panel(second)];
            let scales = [halves(&first.scales), halves(&second.scales)];
            let minimums = [halves(&first.minimums), halves(&second.minimums)];
            // SAFETY: eight readable numbers; the load needs no alignment.
            let sums = _mm512_broadcast_f32x8(unsafe { _mm256_loadu_ps(x.sums.as_ptr()) });
            for panel in 0..PANELS {
                grounds[panel] = _mm512_fmadd_ps(minimums[panel], sums, grounds[panel]);
            }
            for column in 0..N {
                let codes = codes_of_column(x, column);
                let scale = _mm512_set1_ps(x.scales[column]);
                for panel in 0..PANELS {
                    let none = _mm512_setzero_si512();
                    let products = _mm512_dpbusd_epi32(none, weights[panel], codes);
                    let scale = _mm512_mul_ps(scales[panel], scale);
                    let acc = &mut acc[panel][column];
                    *acc = _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(products), *acc);
                }
            }
        }
        let mut values = values_of(&acc);
        for (rows, grounds) in values.as_chunks_mut::<2>().0.iter_mut().zip(grounds) {
            let mut ground = [0.0; 2 * TILE_COLUMNS];
            // SAFETY: 16 writable numbers; the store needs no alignment.
            unsafe { _mm512_storeu_ps(ground.as_mut_ptr(), grounds) };
            for (value, ground) in rows.as_flattened_mut().iter_mut().zip(ground) {
                *value += ground;
            }
        }
        values
    }
}

/// The codes of both rows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]
fn codes_of_panel(block: &PanelBlock) -> __m512i {
    // SAFETY: 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(block.codes.as_ptr().cast()) }
}

/// The codes of an activation row, in both halves.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]
fn codes_of_column(block: &TileBlock, column: usize) -> __m512i {
    let codes: &[i8; 32] = &block.codes[column];
    // SAFETY: 32 readable bytes; the load needs no alignment.
    _mm512_broadcast_i64x4(unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) })
}

/// The numbers of both rows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")]
fn halves(values: &[[f32; 8]; 2]) -> __m512 {
    // SAFETY: 16 readable numbers; the load needs no alignment.
    unsafe { _mm512_loadu_ps(values.as_ptr().cast()) }
}

/// The sum of each half, in the order of the dot product.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c")]
fn values_of<const N: usize>(acc: &[[__m512; N]; PANELS]) -> Values {
    let mut values = [[0.0; TILE_COLUMNS]; TILE_ROWS];
    for (rows, acc) in values.as_chunks_mut::<2>().0.iter_mut().zip(acc) {
        for (column, acc) in acc.iter().enumerate() {
            let upper: __m256 =
                _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(*acc)));
            rows[0][column] = avx2::sum(_mm512_castps512_ps256(*acc));
            rows[1][column] = avx2::sum(upper);
        }
    }
    values
}
