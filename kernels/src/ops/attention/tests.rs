//! Both orders of attention against a naive `f64` softmax, over shapes around the tile's edges.

use half::f16;

use super::{Pages, Rows, Scratch, TILE, attend_row, attend_tile};
use crate::ops::Path;

/// A small deterministic stream of values in -1..1.
fn values(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / 8_388_608.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn halves(values: &[f32]) -> Vec<f16> {
    values.iter().map(|&v| f16::from_f32(v)).collect()
}

fn naive(query: &[f32], keys: &[f16], values: &[f16], positions: usize, scale: f64) -> Vec<f64> {
    let dim = query.len();
    let key = |p: usize, d: usize| f64::from(keys[p * dim + d].to_f32());
    let scores: Vec<f64> = (0..positions)
        .map(|p| (0..dim).map(|d| f64::from(query[d]) * key(p, d)).sum::<f64>() * scale)
        .collect();
    let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - highest).exp()).collect();
    let total: f64 = weights.iter().sum();
    (0..dim)
        .map(|d| {
            let value = |p: usize| f64::from(values[p * dim + d].to_f32());
            weights.iter().enumerate().map(|(p, w)| w * value(p)).sum::<f64>() / total
        })
        .collect()
}

/// Half-precision queries and sums: a few units of 2^-11, growing with the number of additions.
const ROW_TOLERANCE: f64 = 4e-3;
/// `f32` sums of `f16` values that are exact in `f32`.
const TILE_TOLERANCE: f64 = 2e-6;

#[test]
fn rows_are_near_the_naive_softmax_and_equal_on_both_paths() {
    let mut compared = 0;
    for (dim, positions) in [(64, 1), (64, 2), (64, 97), (128, 33), (20, 9), (8, 300)] {
        let query = values(dim as u64, dim);
        let keys = halves(&values(1, positions * dim));
        let vals = halves(&values(2, positions * dim));
        let (k, v) = (Rows::new(&keys, dim, dim), Rows::new(&vals, dim, dim));
        let mut scalar = vec![0.0; dim];
        let mut best = vec![0.0; dim];
        attend_row(Path::SCALAR, &query, k, v, positions, 0.3, &mut scalar);
        attend_row(Path::detect(), &query, k, v, positions, 0.3, &mut best);
        let scale = f64::from(0.3_f32);
        for ((a, b), r) in
            scalar.iter().zip(&best).zip(naive(&query, &keys, &vals, positions, scale))
        {
            assert_eq!(a.to_bits(), b.to_bits());
            assert!((f64::from(*a) - r).abs() <= ROW_TOLERANCE, "{a} {r}");
            compared += 1;
        }
    }
    assert_eq!(compared, 64 * 3 + 128 + 20 + 8);
}

#[test]
fn tiles_are_near_the_naive_softmax_and_equal_on_both_paths() {
    let mut compared = 0;
    for (dim, rows, first) in [(64, 64, 0), (64, 64, 70), (128, 7, 64), (20, 33, 1), (8, 1, 0)] {
        let positions = first + rows;
        let queries = values(dim as u64, rows * dim);
        let keys = halves(&values(3, positions * dim));
        let vals = halves(&values(4, positions * dim));
        let (k, v) = (Rows::new(&keys, dim, dim), Rows::new(&vals, dim, dim));
        let q = Rows::new(&queries, dim, dim);
        let mut scalar = vec![0.0; rows * dim];
        let mut best = scalar.clone();
        let mut scratch = Scratch::default();
        attend_tile(Path::SCALAR, q, first, k, v, 0.3, &mut scratch, &mut scalar);
        attend_tile(Path::detect(), q, first, k, v, 0.3, &mut scratch, &mut best);
        for row in 0..rows {
            let expected = naive(q.row(row), &keys, &vals, first + row + 1, f64::from(0.3_f32));
            for (d, r) in expected.into_iter().enumerate() {
                let (a, b) = (scalar[row * dim + d], best[row * dim + d]);
                assert_eq!(a.to_bits(), b.to_bits());
                assert!((f64::from(a) - r).abs() <= TILE_TOLERANCE, "row {row}: {a} {r}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 64 * 64 * 2 + 128 * 7 + 20 * 33 + 8);
    assert_eq!(TILE, 64);
}

/// Rows are moved to pages in another order; what is read must be the same rows, so every bit must be the same.
#[test]
fn paged_rows_are_the_same_rows() {
    let (dim, positions, shift, table) = (16, 150, 4, [7_u32, 2, 9, 0, 4, 1, 8, 3, 6, 5]);
    let pages = Pages { table: &table, shift };
    let scattered = |rows: &[f16]| {
        let mut paged = vec![f16::NAN; (table.len() << shift) * dim];
        for (index, row) in rows.chunks_exact(dim).enumerate() {
            let place = table[index / 16] as usize * 16 + index % 16;
            paged[place * dim..][..dim].copy_from_slice(row);
        }
        paged
    };
    let (keys, vals) = (halves(&values(1, positions * dim)), halves(&values(2, positions * dim)));
    let (paged_keys, paged_vals) = (scattered(&keys), scattered(&vals));
    let (k, v) = (Rows::new(&keys, dim, dim), Rows::new(&vals, dim, dim));
    let [pk, pv] = [&paged_keys, &paged_vals].map(|rows| Rows::new(rows, dim, dim).paged(pages));
    let query = values(3, 70 * dim);
    let mut outs = [vec![0.0; dim], vec![0.0; dim]];
    attend_row(Path::detect(), &query[..dim], k, v, positions, 0.3, &mut outs[0]);
    attend_row(Path::detect(), &query[..dim], pk, pv, positions, 0.3, &mut outs[1]);
    assert_eq!(outs[0], outs[1]);
    let mut tiles = [vec![0.0; TILE * dim], vec![0.0; TILE * dim]];
    for (out, (k, v)) in tiles.iter_mut().zip([(k, v), (pk, pv)]) {
        let queries = Rows::new(&query, dim, dim);
        let first = positions - TILE;
        attend_tile(Path::detect(), queries, first, k, v, 0.3, &mut Scratch::default(), out);
    }
    assert_eq!(tiles[0], tiles[1]);
}
