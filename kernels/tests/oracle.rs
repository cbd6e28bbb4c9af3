//! The bits of llama.cpp: dot products, activation quantisation, dequantisation and reference quantisers, against values
//! that its own functions gave for the same inputs (`data/vec_dot.json` says which build, and how).
#![allow(missing_docs, reason = "a test binary")]

mod inputs;

use kernels::dot::dot_row;
use kernels::{
    ActivationRow, Activations, FORMATS, Format, Matrix, Order, Pool, Scratch, Tier,
    dequantize_row, matmul_in_order, quantize_row,
};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    made_with: String,
    how: String,
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    format: String,
    cols: usize,
    x_seed: u64,
    x_shift: i32,
    row_seeds: Vec<u64>,
    /// One for each row seed: the bits of the f32.
    dots: Vec<String>,
    activation: String,
    dequantised: String,
    quantised: Option<String>,
}

impl Case {
    fn format(&self) -> Format {
        Format::from_name(&self.format).expect("a format of the registry")
    }

    fn label(&self) -> String {
        format!("{} x {} at 2^{}", self.format, self.cols, self.x_shift)
    }

    fn x(&self) -> Vec<f32> {
        inputs::activations(self.x_seed, self.cols, self.x_shift)
    }

    fn row(&self, index: usize) -> Vec<u8> {
        inputs::row(self.format(), self.row_seeds[index], self.cols)
    }
}

fn fixture() -> Fixture {
    let fixture: Fixture = serde_json::from_str(include_str!("data/vec_dot.json")).expect("json");
    assert!(fixture.made_with.contains("0.3.36") && !fixture.how.is_empty());
    for spec in FORMATS {
        assert!(fixture.cases.iter().any(|case| case.format() == spec.format), "{}", spec.name);
    }
    fixture
}

fn fnv(bytes: impl IntoIterator<Item = u8>) -> String {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    format!("{:016x}", bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step))
}

fn dots(tier: Tier) -> usize {
    let mut compared = 0;
    for case in fixture().cases {
        let x = Activations::quantized(tier, case.format(), &case.x()).expect("whole blocks");
        for (index, expected) in case.dots.iter().enumerate() {
            let found = dot_row(tier, case.format(), &case.row(index), x.row(0)).expect("lengths");
            assert_eq!(format!("{:08x}", found.to_bits()), *expected, "{} {index}", case.label());
            compared += 1;
        }
    }
    compared
}

#[test]
fn scalar_dots_have_the_oracles_bits() {
    assert_eq!(dots(Tier::Scalar), EXPECTED_DOTS);
}

#[test]
fn avx2_dots_have_the_oracles_bits() {
    if Tier::Avx2.is_available() {
        assert_eq!(dots(Tier::Avx2), EXPECTED_DOTS);
    }
}

#[test]
fn activations_have_the_oracles_bits() {
    let mut compared = 0;
    for tier in Tier::ALL.into_iter().filter(|tier| tier.is_available()) {
        compared = 0;
        for case in fixture().cases {
            let x = case.x();
            let quantized = Activations::quantized(tier, case.format(), &x).expect("whole blocks");
            let fields = bytes_of(quantized.row(0));
            assert_eq!(fnv(fields), case.activation, "{} {tier}", case.label());
            compared += 1;
        }
    }
    assert_eq!(compared, EXPECTED_CASES);
}

fn bytes_of(row: ActivationRow<'_>) -> Vec<u8> {
    let f32s = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    [
        f32s(row.values),
        row.halves.iter().flat_map(|v| v.to_le_bytes()).collect(),
        row.codes.iter().map(|v| *v as u8).collect(),
        f32s(row.scales),
        f32s(row.sums),
        row.group_sums.iter().flat_map(|v| v.to_le_bytes()).collect(),
    ]
    .concat()
}

#[test]
fn dequantised_rows_have_the_oracles_bits() {
    let mut compared = 0;
    for case in fixture().cases {
        let mut values = vec![0.0; case.cols];
        dequantize_row(case.format(), &case.row(0), &mut values).expect("lengths");
        let bytes = values.iter().flat_map(|v| v.to_le_bytes());
        assert_eq!(fnv(bytes), case.dequantised, "{}", case.label());
        compared += 1;
    }
    assert_eq!(compared, EXPECTED_CASES);
}

#[test]
fn reference_quantisers_write_the_oracles_bytes() {
    let mut compared = 0;
    for case in fixture().cases {
        let Some(expected) = &case.quantised else { continue };
        let format = case.format();
        let mut bytes = vec![0; format.row_bytes(case.cols).expect("whole blocks")];
        quantize_row(format, &case.x(), &mut bytes).expect("lengths");
        assert_eq!(fnv(bytes), *expected, "{}", case.label());
        compared += 1;
    }
    assert_eq!(compared, EXPECTED_QUANTISED);
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Products {
    made_with: String,
    how: String,
    /// Weights as they lie in the file.
    cases: Vec<Product>,
    /// Weights repacked in eights of rows.
    repacked: Vec<Product>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Product {
    format: String,
    rows: usize,
    cols: usize,
    n: usize,
    row_seed: u64,
    x_seed: u64,
    bits: String,
}

/// Compares every product on every tier; returns how many a tier has.
fn products(cases: &[Product], order: Order) -> usize {
    for tier in Tier::ALL.into_iter().filter(|tier| tier.is_available()) {
        let (pool, mut scratch) = (Pool::with_tier(2, tier).expect("pool"), Scratch::new());
        for case in cases {
            let format = Format::from_name(&case.format).expect("a format of the registry");
            let bytes = inputs::row(format, case.row_seed, case.rows * case.cols);
            let weights = Matrix::new(format, case.rows, case.cols, &bytes).expect("its size");
            let x = inputs::activations(case.x_seed, case.cols * case.n, 0);
            let mut out = vec![f32::NAN; case.rows * case.n];
            matmul_in_order(&pool, order, case.n, &weights, &x, &mut out, &mut scratch)
                .expect("lengths");
            let found = fnv(out.iter().flat_map(|v| v.to_le_bytes()));
            let label = format!("{format} {} x {}, n {}, {tier}", case.rows, case.cols, case.n);
            assert_eq!(found, case.bits, "{label}");
        }
    }
    cases.len()
}

#[test]
fn batches_have_the_oracles_bits() {
    let fixture: Products = serde_json::from_str(include_str!("data/mul_mat.json")).expect("json");
    assert!(fixture.made_with.contains("0.3.36") && fixture.how.contains("ggml_mul_mat"));
    assert_eq!(products(&fixture.cases, Order::LlamaCpp), EXPECTED_PRODUCTS);
    assert_eq!(products(&fixture.repacked, Order::LlamaCppRepacked), EXPECTED_REPACKED);
}

const EXPECTED_REPACKED: usize = 16;
const EXPECTED_PRODUCTS: usize = 240;
const EXPECTED_CASES: usize = 133;
const EXPECTED_DOTS: usize = 3 * EXPECTED_CASES;
const EXPECTED_QUANTISED: usize = 77;
