//! Weight bytes a second of each format's dot product, one thread, from cache and from memory; and multiplications a second
//! with many activation rows.
#![allow(missing_docs, reason = "criterion's macros write undocumented functions")]
#![allow(clippy::unwrap_used, reason = "a bench has nobody to hand an error to")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kernels::{FORMATS, Matrix, Pool, Scratch, Tier, matmul, quantize_row};

/// A decode step: one activation row against a matrix of `rows` rows of `cols` values.
fn decode(c: &mut Criterion, place: &str, rows: usize, cols: usize) {
    let mut group = c.benchmark_group(format!("decode-{place}"));
    let x: Vec<f32> = (0..cols).map(|i| (i as f32 * 0.37).sin()).collect();
    for spec in FORMATS {
        let row_bytes = spec.format.row_bytes(cols).unwrap();
        let mut row = vec![0; row_bytes];
        quantize_row(spec.format, &x, &mut row).unwrap();
        let bytes = row.repeat(rows);
        let weights = Matrix::new(spec.format, rows, cols, &bytes).unwrap();
        let pool = Pool::with_tier(1, Tier::detect()).unwrap();
        let (mut out, mut scratch) = (vec![0.0; rows], Scratch::new());
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(spec.name), |b| {
            b.iter(|| matmul(&pool, &weights, black_box(&x), &mut out, &mut scratch).unwrap());
        });
    }
    group.finish();
}

fn cache(c: &mut Criterion) {
    decode(c, "cache", 64, 1536);
}

fn memory(c: &mut Criterion) {
    decode(c, "memory", 32768, 1536);
}

/// A prefill: 64 activation rows against a matrix that stays in cache, in multiplications a second.
fn prefill(c: &mut Criterion) {
    let (rows, cols, n) = (576, 1536, 64);
    let mut group = c.benchmark_group("prefill");
    let x: Vec<f32> = (0..n * cols).map(|i| (i as f32 * 0.37).sin()).collect();
    for spec in FORMATS {
        let mut row = vec![0; spec.format.row_bytes(cols).unwrap()];
        quantize_row(spec.format, &x[..cols], &mut row).unwrap();
        let bytes = row.repeat(rows);
        let weights = Matrix::new(spec.format, rows, cols, &bytes).unwrap();
        group.throughput(Throughput::Elements((rows * cols * n) as u64));
        for tier in Tier::ALL.into_iter().skip(1).filter(|tier| tier.is_available()) {
            let pool = Pool::with_tier(1, tier).unwrap();
            let (mut out, mut scratch) = (vec![0.0; rows * n], Scratch::new());
            group.bench_function(BenchmarkId::new(spec.name, tier), |b| {
                b.iter(|| matmul(&pool, &weights, black_box(&x), &mut out, &mut scratch).unwrap());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, cache, memory, prefill);
criterion_main!(benches);
