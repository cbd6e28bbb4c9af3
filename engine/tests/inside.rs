//! `plumb op` on values worked out by hand, and `plumb dump` with given values on a tiny checkpoint.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its fixture has to stop")]

use std::collections::HashMap;
use std::io::{Cursor, sink};
use std::path::{Path, PathBuf};

use clap::Parser;
use engine::cli::{BuildInfo, Cli, Streams};
use half::bf16;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

type Bytes = (Dtype, Vec<usize>, Vec<u8>);

fn f32s(shape: &[usize], values: &[f32]) -> Bytes {
    (Dtype::F32, shape.to_vec(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

fn bf16s(shape: &[usize], values: &[f32]) -> Bytes {
    let bytes = values.iter().flat_map(|&value| bf16::from_f32(value).to_le_bytes());
    (Dtype::BF16, shape.to_vec(), bytes.collect())
}

fn ids(values: &[i64]) -> Bytes {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    (Dtype::I64, vec![values.len()], bytes)
}

fn write(path: &Path, tensors: &[(&str, Bytes)]) {
    let views: HashMap<&str, TensorView<'_>> = tensors
        .iter()
        .map(|(name, (dtype, shape, bytes))| {
            (*name, TensorView::new(*dtype, shape.clone(), bytes).unwrap())
        })
        .collect();
    std::fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
}

/// Every tensor of a file of floats.
fn read(path: &Path) -> HashMap<String, Vec<f32>> {
    let bytes = std::fs::read(path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let floats = |view: &TensorView<'_>| {
        let (values, rest) = view.data().as_chunks::<4>();
        assert!(rest.is_empty());
        values.iter().map(|value| f32::from_le_bytes(*value)).collect()
    };
    file.iter().map(|(name, view)| (name.to_owned(), floats(&view))).collect()
}

/// The exit status, and what the error says.
fn plumb(arguments: &[&str]) -> (u8, String) {
    let cli = Cli::parse_from(["plumb"].iter().chain(arguments));
    let input = Box::new(Cursor::new(Vec::new()));
    let mut streams = Streams { input, output: &mut Vec::new(), progress: &mut sink() };
    let build = BuildInfo { version: "0", commit: None, source_sha256: None };
    match cli.run(&build, &mut streams) {
        Ok(()) => (0, String::new()),
        Err(error) => (error.exit_status(), error.to_string()),
    }
}

/// What an operation answers, its only tensor's bytes, or what it refuses with.
fn op(name: &str, args: &str, dtype: &str, tensors: &[(&str, Bytes)]) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().unwrap();
    let [inputs, out] = ["inputs", "out"].map(|file| folder.path().join(file));
    write(&inputs, tensors);
    let paths = [&inputs, &out].map(|path| path.to_str().unwrap());
    let profile = "--profile=hf517-eager";
    let (status, error) = plumb(&[
        "op", name, "--args", args, "--dtype", dtype, profile, "--inputs", paths[0], "--out",
        paths[1],
    ]);
    if status != 0 {
        assert_eq!(status, 2);
        return Err(error);
    }
    let bytes = std::fs::read(&out).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(file.len(), 1);
    Ok(file.iter().next().unwrap().1.data().to_vec())
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}

/// `[3, 4]` has mean square 12.5; in bfloat16 the quotients 0.848528 and 1.131371 round to 217/256 and 145/128,
/// and the second weight doubles exactly.
#[test]
fn a_norm_rounds_as_its_type_says() {
    let inputs = |x: Bytes| [("x", x), ("weight", f32s(&[2], &[1.0, 2.0]))];
    let args = r#"{"eps": 0}"#;
    let single = op("rms-norm", args, "float32", &inputs(f32s(&[1, 2], &[3.0, 4.0]))).unwrap();
    for (found, expected) in floats(&single).iter().zip([0.848_528_14, 2.262_741_7]) {
        assert!((found - expected).abs() <= 2e-7, "{found}");
    }
    let half = op("rms-norm", args, "bfloat16", &inputs(bf16s(&[1, 2], &[3.0, 4.0]))).unwrap();
    assert_eq!(floats(&half), [217.0 / 256.0, 145.0 / 64.0]);
}

/// Position 0 turns nothing; at base 1 every pair turns by the position, here by one radian.
#[test]
fn rope_turns_the_pairs_that_are_named() {
    let inputs = [
        ("x", f32s(&[2, 4], &[1.0, 2.0, 3.0, 4.0, 1.0, 0.0, 0.0, 0.0])),
        ("positions", ids(&[0, 1])),
    ];
    let turned = |pairs: &str| {
        let args = format!(r#"{{"base": 1.0, "dim": 4, "pairs": "{pairs}"}}"#);
        floats(&op("rope", &args, "float32", &inputs).unwrap())
    };
    let (cos, sin) = (1.0_f32.cos(), 1.0_f32.sin());
    assert_eq!(turned("halves"), [1.0, 2.0, 3.0, 4.0, cos, 0.0, sin, 0.0]);
    assert_eq!(turned("adjacent"), [1.0, 2.0, 3.0, 4.0, cos, sin, 0.0, 0.0]);
}

/// Equal keys weigh the values alike, and a row sees those at and before its own position only: means of 1, of 1 and
/// 3, and of 1, 3 and 5. The second key head is for the second pair of query heads.
#[test]
fn attention_is_causal_and_groups_its_heads() {
    let query = f32s(&[2, 8], &[0.5; 16]);
    let key = f32s(&[3, 4], &[1.0; 12]);
    let value = f32s(&[3, 4], &[1.0, 1.0, 7.0, 7.0, 3.0, 3.0, 7.0, 7.0, 5.0, 5.0, 7.0, 7.0]);
    let args = r#"{"heads": 4, "key_value_heads": 2, "dim": 2, "past": 1}"#;
    let inputs = [("query", query), ("key", key), ("value", value)];
    let found = floats(&op("attention", args, "float32", &inputs).unwrap());
    let expected = [[2.0; 4], [7.0; 4], [3.0; 4], [7.0; 4]].concat();
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() <= 2e-6, "{found} is not {expected}");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn products_sums_rows_and_ties() {
    let weight = f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let linear = [
        ("x", f32s(&[1, 2], &[5.0, 6.0])),
        ("weight", weight.clone()),
        ("bias", f32s(&[2], &[0.5, 0.0])),
    ];
    assert_eq!(floats(&op("linear", "{}", "float32", &linear).unwrap()), [17.5, 39.0]);
    let rows = [("ids", ids(&[1, 0, 1])), ("weight", weight.clone())];
    let found = floats(&op("embedding", "{}", "float32", &rows).unwrap());
    assert_eq!(found, [3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
    let pair = [("x", bf16s(&[1, 2], &[1.0, 256.0])), ("y", bf16s(&[1, 2], &[2.0, 1.0]))];
    // 257 lies between two bfloat16 and goes to the even one.
    assert_eq!(floats(&op("add", "{}", "bfloat16", &pair).unwrap()), [3.0, 256.0]);
    let logits = [("logits", f32s(&[2, 3], &[1.0, 2.0, 2.0, -1.0, -3.0, -1.0]))];
    assert_eq!(op("argmax", "{}", "float32", &logits).unwrap(), ids(&[1, 0]).2);
}

/// A block of Q8_0 with scale 0.5 (f16 0x3800) and quants 1 to 32, times ones: half of 528. The ones are quantised too,
/// with a half-precision scale of 1/127.
#[test]
fn a_weight_may_come_in_blocks() {
    let block: Vec<u8> = [0x00, 0x38].into_iter().chain(1..=32).collect();
    let weight = (Dtype::U8, vec![1, 34], block);
    let inputs = [("x", f32s(&[1, 32], &[1.0; 32])), ("weight", weight)];
    let found = op("linear", r#"{"weight_format": "Q8_0"}"#, "float32", &inputs).unwrap();
    let [found] = floats(&found)[..] else { panic!("one value") };
    assert!((found - 264.0).abs() <= 264.0 / 2048.0, "{found}");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let x = || ("x", f32s(&[1, 2], &[1.0, 2.0]));
    let wrong = |name: &str, args: &str, tensors: &[(&str, Bytes)]| {
        op(name, args, "float32", tensors).unwrap_err()
    };
    assert!(wrong("sqrt", "{}", &[]).contains("there is no operation \"sqrt\""));
    assert!(wrong("add", "{}", &[x()]).contains("\"y\" is missing"));
    assert!(wrong("add", "{}", &[x(), ("y", f32s(&[1, 1], &[1.0]))]).contains("expected [1, 2]"));
    assert!(wrong("add", r#"{"eps": 1}"#, &[x()]).contains("unknown field"));
    assert!(wrong("rms-norm", "{}", &[x()]).contains("missing field"));
    assert!(wrong("argmax", "{}", &[("logits", ids(&[1]))]).contains("shape [1]"));
    let table = ("weight", f32s(&[1, 2], &[1.0, 2.0]));
    assert!(wrong("embedding", "{}", &[("ids", ids(&[1])), table]).contains("there are 1 rows"));
}

fn dump(folder: &Path, name: &str, given: Option<&Path>) -> (u8, String) {
    let model = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/qwen3-bf16");
    let out = folder.join(name);
    let [model, out] = [&model, &out].map(|path| path.to_str().unwrap().to_owned());
    let mut arguments = vec![
        "dump",
        &model,
        "--ids",
        "3,1,4,1,5",
        "--taps",
        "embed,layer.*,norm,logits",
        "--out",
        &out,
    ];
    if let Some(path) = given {
        arguments.extend(["--given", path.to_str().unwrap()]);
    }
    plumb(&arguments)
}

#[test]
fn a_layer_is_computed_from_what_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert_eq!(dump(folder, "plain", None).0, 0);
    let plain = read(&folder.join("plain"));
    let stream = &plain["layer.0"];
    let width = stream.len() / 5;
    let given = folder.join("given");
    write(&given, &[("layer.0", f32s(&[5, width], stream))]);
    assert_eq!(dump(folder, "same", Some(&given)).0, 0);
    assert_eq!(read(&folder.join("same")), plain);
    // Another stream after layer 0: what comes before is as it was, what comes after is not.
    let turned: Vec<f32> = stream.iter().rev().copied().collect();
    write(&given, &[("layer.0", f32s(&[5, width], &turned))]);
    assert_eq!(dump(folder, "other", Some(&given)).0, 0);
    let other = read(&folder.join("other"));
    assert!(plain.len() > 20);
    for (name, values) in &plain {
        let before = name == "embed" || name == "layer.0" || name.starts_with("layer.0.");
        assert_eq!(*values == other[name], before, "{name}");
    }
    write(&given, &[("layer.9", f32s(&[5, width], stream))]);
    assert!(dump(folder, "none", Some(&given)).1.contains("no value named \"layer.9\""));
    write(&given, &[("layer.0", f32s(&[4, width], &stream[..4 * width]))]);
    assert!(dump(folder, "none", Some(&given)).1.contains("5 rows, and 4 were given"));
}
