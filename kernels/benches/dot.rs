//! Weight bytes a second of each format's dot product, one thread, from cache and from memory.
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

criterion_group!(benches, cache, memory);
criterion_main!(benches);
