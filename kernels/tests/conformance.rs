//! Every format of the registry through the whole suite: sizes, both kernels, dequantisation, quantiser, products.
#![allow(missing_docs, reason = "a test binary")]

mod inputs;

use kernels::dot::dot_row;
use kernels::{
    Activation, Activations, Error, FORMATS, Format, Matrix, Order, Pool, Scratch, Tier,
    dequantize_row, matmul, matmul_in_order, quantize_row,
};
use proptest::prelude::*;

/// How far rounding to half precision may move a number, as a share of it.
const HALF: f64 = 1.0 / 2048.0;

/// Name, ggml type id, block length and block bytes, as `GGMLQuantizationType` and `GGML_QUANT_SIZES` of the `gguf`
/// Python package list them, and how far quantising may move a value, as a share of its block's largest magnitude.
const TABLE: [(&str, u32, usize, usize, f64); 13] = [
    ("F32", 0, 1, 4, 0.0),
    ("F16", 1, 1, 2, HALF),
    ("BF16", 30, 1, 2, 0.004),
    // The side opposite to the extreme lacks one code.
    ("Q4_0", 2, 32, 18, 1.0 / 8.0 + HALF),
    ("Q4_1", 3, 32, 20, 1.0 / 15.0 + 3.0 * HALF),
    ("Q5_0", 6, 32, 22, 1.0 / 16.0 + HALF),
    ("Q5_1", 7, 32, 24, 1.0 / 31.0 + 3.0 * HALF),
    ("Q8_0", 8, 32, 34, 0.5 / 127.0 + HALF),
    // Half a code step, and half a step of the group's scale and minimum.
    ("Q2_K", 10, 256, 84, 1.0 / 3.0 + 1.0 / 10.0 + 1.0 / 30.0),
    ("Q3_K", 11, 256, 110, 1.0 / 4.0 + 1.0 / 62.0),
    ("Q4_K", 12, 256, 144, 1.0 / 15.0 + 1.0 / 63.0 + 1.0 / 126.0),
    ("Q5_K", 13, 256, 176, 1.0 / 31.0 + 1.0 / 63.0 + 1.0 / 126.0),
    ("Q6_K", 14, 256, 210, 1.0 / 32.0 + 1.0 / 254.0),
];

#[test]
fn the_registry_agrees_with_the_gguf_package() {
    assert_eq!(FORMATS.len(), TABLE.len());
    for (index, (spec, (name, id, block_len, block_bytes, _))) in
        FORMATS.iter().zip(TABLE).enumerate()
    {
        let format = Format::ALL[index];
        assert_eq!(spec.format, format, "the registry is in the order of the variants");
        assert_eq!(format as usize, index);
        assert_eq!((format.name(), format.ggml_type()), (name, id));
        assert_eq!((format.block_len(), format.block_bytes()), (block_len, block_bytes));
        assert_eq!(Format::from_ggml_type(id), Ok(format));
        assert_eq!(Format::from_name(&name.to_lowercase()), Some(format));
        assert_eq!(format.row_bytes(block_len * 3), Ok(block_bytes * 3));
    }
    assert!(matches!(Format::from_ggml_type(4), Err(Error::UnknownType { id: 4, .. })));
}

#[test]
fn wrong_lengths_are_errors_that_name_them() {
    let pool = Pool::new(1).expect("one thread");
    let mut compared = 0;
    for spec in FORMATS {
        let (format, cols) = (spec.format, spec.block_len * 2);
        let bytes = format.row_bytes(cols).expect("whole blocks");
        let row = vec![0; bytes];
        let long = |error: Error| matches!(error, Error::WrongLength { .. });
        assert!(dequantize_row(format, &row[1..], &mut vec![0.0; cols]).is_err_and(long));
        assert!(quantize_row(format, &vec![0.0; cols], &mut vec![0; bytes + 1]).is_err_and(long));
        assert!(Matrix::new(format, 2, cols, &row).is_err_and(long));
        if spec.block_len > 1 {
            let ragged = Matrix::new(format, 1, cols - 1, &row);
            assert!(matches!(ragged, Err(Error::RaggedRow { .. })), "{format}");
            assert!(Activations::quantized(Tier::Scalar, format, &vec![0.0; cols - 1]).is_err());
        }
        let huge = Matrix::new(format, usize::MAX, cols, &row);
        assert!(matches!(huge, Err(Error::TooLarge { .. })), "{format}");
        let weights = Matrix::new(format, 1, cols, &row).expect("its size");
        let mut scratch = Scratch::new();
        let short = matmul(&pool, &weights, &vec![0.0; cols + 1], &mut [0.0], &mut scratch);
        assert!(short.is_err_and(long));
        let narrow = matmul(&pool, &weights, &vec![0.0; cols], &mut [0.0; 2], &mut scratch);
        assert!(narrow.is_err_and(long));
        let other = if spec.activation == Activation::Q8_0 { Format::Q4_1 } else { Format::Q4_0 };
        let x = Activations::quantized(Tier::Scalar, other, &[1.0; 512]).expect("whole blocks");
        let row = vec![0; format.row_bytes(512).expect("whole blocks")];
        assert!(dot_row(Tier::Scalar, format, &row, x.row(0)).is_err_and(long), "{format}");
        compared += 1;
    }
    assert_eq!(compared, TABLE.len());
}

#[test]
fn a_tier_that_is_missing_is_an_error() {
    for tier in Tier::ALL {
        match tier.require() {
            Ok(found) => assert!(found == tier && tier.is_available() && Tier::detect() >= tier),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("avx2") && error.contains("scalar"), "{error}");
                assert!(Pool::with_tier(1, tier).is_err());
            }
        }
    }
}

fn values(format: Format, row: &[u8], cols: usize) -> Vec<f32> {
    let mut values = vec![0.0; cols];
    dequantize_row(format, row, &mut values).expect("lengths");
    values
}

/// The dot product in f64 over dequantised weights and unquantised activations, and how far the kernel may be from it.
fn reference(format: Format, row: &[u8], x: &[f32]) -> (f64, f64) {
    let weights = values(format, row, x.len());
    let kind = format.spec().activation;
    let (mut dot, mut bound) = (0.0, 0.0);
    for (w, x) in weights.chunks(kind.block_len()).zip(x.chunks(kind.block_len())) {
        let largest = |v: &[f32]| v.iter().fold(0.0_f64, |a, v| a.max(f64::from(v.abs())));
        // Half a code step, with the scale itself rounded to 11 bits where it is a half.
        let step = match kind {
            Activation::F32 => 0.0,
            Activation::F16 => largest(x) * 2.0_f64.powi(-11),
            Activation::Bf16 => largest(x) * 2.0_f64.powi(-8),
            Activation::Q8_0 | Activation::Q8_1 => largest(x) * (0.5 / 127.0 + 2.0_f64.powi(-11)),
            Activation::Q8K => largest(x) * (0.5 / 127.0 + 2.0_f64.powi(-22)),
        };
        // A minimum and what stands on it may be larger than their sum: four times the block's largest weight. The
        // Q8_1 sums are halves; the f32 sums round, at most once a value.
        let parts = 4.0 * largest(w) * largest(x) * x.len() as f64;
        let sums = if kind == Activation::Q8_1 { 2.0_f64.powi(-11) } else { 0.0 };
        bound += parts * (sums + weights.len() as f64 * 2.0_f64.powi(-24));
        for (w, x) in w.iter().zip(x) {
            dot += f64::from(*w) * f64::from(*x);
            bound += f64::from(w.abs()) * step;
        }
    }
    (dot, bound)
}

fn dot(tier: Tier, format: Format, row: &[u8], x: &[f32]) -> f32 {
    let x = Activations::quantized(tier, format, x).expect("whole blocks");
    dot_row(tier, format, row, x.row(0)).expect("lengths")
}

/// The same bits, or both not a number.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn tiers() -> impl Iterator<Item = Tier> {
    Tier::ALL.into_iter().filter(|tier| tier.is_available())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dots_are_near_the_exact_product(seed: u64, blocks in 1_usize..7, shift in -6_i32..7) {
        for spec in FORMATS {
            let cols = if spec.block_len == 1 { blocks * 29 } else { blocks * spec.block_len };
            let row = inputs::row(spec.format, seed, cols);
            let x = inputs::activations(!seed, cols, shift);
            let (expected, bound) = reference(spec.format, &row, &x);
            for tier in tiers() {
                let difference = (f64::from(dot(tier, spec.format, &row, &x)) - expected).abs();
                prop_assert!(difference <= bound, "{} {tier}: {difference} > {bound}", spec.name);
            }
        }
    }

    #[test]
    fn both_kernels_give_the_same_bits(seed: u64, blocks in 1_usize..7, raw: bool) {
        for spec in FORMATS {
            let cols = if spec.block_len == 1 { blocks * 29 } else { blocks * spec.block_len };
            // Raw bytes bring infinite and not-a-number scales.
            let mut rng = inputs::Rng(seed);
            let bytes = spec.format.row_bytes(cols).expect("whole blocks");
            let row = if raw { (0..bytes).map(|_| rng.next() as u8).collect() }
                else { inputs::row(spec.format, seed, cols) };
            let x = inputs::activations(!seed, cols, 0);
            let found: Vec<f32> = tiers().map(|tier| dot(tier, spec.format, &row, &x)).collect();
            prop_assert!(found.iter().all(|dot| same(*dot, found[0])), "{}: {found:?}", spec.name);
        }
    }

    #[test]
    fn batch_kernels_give_the_same_bits(seed: u64, n in 8_usize..12, raw: bool, repacked: bool) {
        let order = if repacked { Order::LlamaCppRepacked } else { Order::LlamaCpp };
        let cols = 512;
        let x = inputs::activations(!seed, cols * n, 0);
        let mut compared = 0;
        for spec in FORMATS {
            let mut rng = inputs::Rng(seed);
            let bytes = 8 * spec.format.row_bytes(cols).expect("whole blocks");
            let rows = if raw { (0..bytes).map(|_| rng.next() as u8).collect() }
                else { inputs::row(spec.format, seed, cols * 8) };
            let weights = Matrix::new(spec.format, 8, cols, &rows).expect("its size");
            let found: Vec<Vec<f32>> = tiers().map(|tier| {
                let pool = Pool::with_tier(1, tier).expect("pool");
                let (mut out, mut scratch) = (vec![f32::NAN; 8 * n], Scratch::new());
                matmul_in_order(&pool, order, n, &weights, &x, &mut out, &mut scratch)
                    .expect("lengths");
                out
            }).collect();
            for other in &found {
                for (a, b) in other.iter().zip(&found[0]) {
                    prop_assert!(same(*a, *b), "{}: {a} {b}", spec.name);
                    compared += 1;
                }
            }
        }
        prop_assert_eq!(compared, FORMATS.len() * tiers().count() * 8 * n);
    }

    #[test]
    fn strange_activations_have_the_same_bits_in_a_batch(seed: u64, n in 1_usize..10) {
        let mut rng = inputs::Rng(seed);
        // Some values of a block are no numbers, or have no bound; the last decides its largest magnitude.
        let strange = [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        let mut x = inputs::activations(!seed, 512 * n, 0);
        for value in x.iter_mut().step_by(37) {
            *value = strange[rng.next() as usize % strange.len()];
        }
        for spec in FORMATS {
            let rows = inputs::row(spec.format, seed, 512 * 9);
            let weights = Matrix::new(spec.format, 9, 512, &rows).expect("its size");
            let found: Vec<Vec<f32>> = tiers().map(|tier| {
                let pool = Pool::with_tier(1, tier).expect("pool");
                let (mut out, mut scratch) = (vec![0.0; 9 * n], Scratch::new());
                matmul(&pool, &weights, &x, &mut out, &mut scratch).expect("lengths");
                out
            }).collect();
            for other in &found {
                prop_assert!(other.iter().zip(&found[0]).all(|(a, b)| same(*a, *b)), "{}", spec.name);
            }
        }
    }

    #[test]
    fn strange_activations_do_not_panic(seed: u64) {
        let mut rng = inputs::Rng(seed);
        let x: Vec<f32> = (0..512).map(|_| f32::from_bits(rng.next() as u32)).collect();
        for spec in FORMATS {
            let row = inputs::row(spec.format, seed, 512);
            let found: Vec<f32> = tiers().map(|tier| dot(tier, spec.format, &row, &x)).collect();
            prop_assert!(found.iter().all(|dot| same(*dot, found[0])), "{}: {found:?}", spec.name);
            let mut bytes = vec![0; row.len()];
            quantize_row(spec.format, &x, &mut bytes).expect("lengths");
        }
    }

    #[test]
    fn quantising_moves_a_value_by_less_than_its_step(seed: u64, blocks in 1_usize..4) {
        for (spec, (.., share)) in FORMATS.iter().zip(TABLE) {
            let cols = blocks * 256;
            let x = inputs::activations(seed, cols, 0);
            let mut bytes = vec![0; spec.format.row_bytes(cols).expect("whole blocks")];
            quantize_row(spec.format, &x, &mut bytes).expect("lengths");
            let back = values(spec.format, &bytes, cols);
            for (x, back) in x.chunks(spec.block_len).zip(back.chunks(spec.block_len)) {
                let largest = x.iter().fold(0.0_f64, |a, v| a.max(f64::from(v.abs())));
                // A half has steps of 2^-24 near zero, which a code may multiply.
                let bound = largest * share + 32.0 * 2.0_f64.powi(-24);
                for (x, back) in x.iter().zip(back) {
                    let difference = (f64::from(*x) - f64::from(*back)).abs();
                    prop_assert!(difference <= bound, "{}: {difference} > {bound}", spec.name);
                }
            }
        }
    }

    #[test]
    fn products_do_not_depend_on_threads_or_on_the_number_of_rows(
        seed: u64, rows in 1_usize..90, n in 1_usize..10, threads in 2_usize..5,
    ) {
        let (one, many) = (Pool::new(1).expect("pool"), Pool::new(threads).expect("pool"));
        let scalar = Pool::with_tier(1, Tier::Scalar).expect("pool");
        for spec in FORMATS {
            let cols = 256;
            let bytes = inputs::row(spec.format, seed, cols * rows);
            let weights = Matrix::new(spec.format, rows, cols, &bytes).expect("its size");
            let x = inputs::activations(!seed, cols * n, 0);
            let mut scratch = Scratch::new();
            let mut together = vec![f32::NAN; rows * n];
            matmul(&many, &weights, &x, &mut together, &mut scratch).expect("lengths");
            for (i, x) in x.chunks(cols).enumerate() {
                for pool in [&one, &scalar] {
                    let mut alone = vec![f32::NAN; rows];
                    matmul(pool, &weights, x, &mut alone, &mut scratch).expect("lengths");
                    let bits = |v: &[f32]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                    prop_assert_eq!(bits(&alone), bits(&together[i * rows..][..rows]), "{}", spec.name);
                }
            }
        }
    }
}
