//! Files written by the reference packages, and what those packages read back from them: the values in
//! `expected.json` were never seen by the code under test (`make_fixtures.py` wrote them).

use engine::checkpoint::gguf::Value;
use engine::checkpoint::{Checkpoint, TensorView};
use engine::inspect::report;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::writer::data;

fn expected() -> Json {
    serde_json::from_slice(&std::fs::read(data("expected.json")).unwrap()).unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

fn list(json: &Json) -> &Vec<Json> {
    json.as_array().unwrap()
}

#[test]
fn gguf_metadata_is_what_python_read() {
    let expected = expected();
    let checkpoint = Checkpoint::open(&data("kinds.gguf")).unwrap();
    let Checkpoint::Gguf(gguf) = &checkpoint else { panic!("not a GGUF file") };
    assert_eq!(u64::from(gguf.version()), expected["gguf"]["version"]);
    assert_eq!(u64::from(gguf.alignment()), expected["gguf"]["alignment"]);
    assert_eq!(gguf.data_offset(), expected["gguf"]["data_offset"]);

    let metadata = gguf.metadata();
    let wanted = list(&expected["gguf"]["metadata"]);
    assert_eq!(metadata.entries().len(), wanted.len());
    for (entry, wanted) in metadata.entries().iter().zip(wanted) {
        let value = metadata.value(entry).unwrap();
        assert_eq!(entry.key(), wanted["key"]);
        assert_eq!(value.type_name(), wanted["type"].as_str().unwrap(), "{}", entry.key());
        assert_eq!(entry.offset(), wanted["offset"], "{}", entry.key());
        assert_eq!(entry.bytes(), wanted["bytes"], "{}", entry.key());
        assert!(same(&value, &wanted["value"]), "{}: {value:?}, {}", entry.key(), wanted["value"]);
    }
    assert_eq!(wanted.len(), 20);
}

/// Compares floats as the double that Python printed: exact for both widths.
fn same(value: &Value<'_>, wanted: &Json) -> bool {
    match *value {
        Value::Uint8(value) => wanted == value,
        Value::Int8(value) => wanted == value,
        Value::Uint16(value) => wanted == value,
        Value::Int16(value) => wanted == value,
        Value::Uint32(value) => wanted == value,
        Value::Int32(value) => wanted == value,
        Value::Uint64(value) => wanted == value,
        Value::Int64(value) => wanted == value,
        Value::Float32(value) => {
            wanted.as_f64().map(f64::to_bits) == Some(f64::from(value).to_bits())
        }
        Value::Float64(value) => wanted.as_f64().map(f64::to_bits) == Some(value.to_bits()),
        Value::Bool(value) => wanted == value,
        Value::String(value) => wanted == value,
        Value::Array(array) => {
            let values: Vec<_> = array.values().map(Result::unwrap).collect();
            let pairs = values.iter().zip(list(wanted));
            values.len() == list(wanted).len() && pairs.into_iter().all(|(a, b)| same(a, b))
        }
    }
}

#[test]
fn gguf_tensors_are_what_python_read() {
    let expected = expected();
    let checkpoint = Checkpoint::open(&data("kinds.gguf")).unwrap();
    let report = report(&checkpoint, false).unwrap();
    let wanted = list(&expected["gguf"]["tensors"]);
    assert_eq!(report.tensors.len(), wanted.len());
    for ((found, view), wanted) in report.tensors.iter().zip(checkpoint.tensors()).zip(wanted) {
        assert_eq!(found.name, wanted["name"]);
        assert_eq!(found.format, wanted["format"]);
        assert_eq!(serde_json::to_value(&found.shape).unwrap(), wanted["shape"]);
        assert_eq!(found.offset, wanted["offset"]);
        assert_eq!(found.bytes, wanted["bytes"]);
        assert_eq!(sha256(view.bytes), wanted["sha256"].as_str().unwrap(), "{}", found.name);
    }
    assert_eq!(wanted.len(), 10);
    let cube = checkpoint.tensor("cube.weight").unwrap();
    assert_eq!((cube.shape, cube.rows(), cube.columns()), (&[2, 3, 64][..], 6, 64));
}

#[test]
fn version_2_is_laid_out_like_version_3() {
    let mut bytes = std::fs::read(data("kinds.gguf")).unwrap();
    bytes[4] = 2;
    let gguf = crate::writer::open_gguf(bytes).unwrap();
    assert_eq!((gguf.version(), gguf.metadata().keys().len()), (2, 20));
}

#[test]
fn safetensors_are_what_python_read() {
    let expected = expected();
    let mut compared = 0;
    for (path, list_name) in [("single.safetensors", "single"), ("sharded", "sharded")] {
        let checkpoint = Checkpoint::open(&data(path)).unwrap();
        let wanted = list(&expected[list_name]);
        assert_eq!(checkpoint.tensors().len(), wanted.len());
        for wanted in wanted {
            let TensorView { name, format, shape, bytes } =
                checkpoint.tensor(wanted["name"].as_str().unwrap()).unwrap();
            assert_eq!(name, wanted["name"]);
            assert_eq!(format.name(), wanted["format"]);
            assert_eq!(serde_json::to_value(shape).unwrap(), wanted["shape"]);
            assert_eq!(bytes.len(), wanted["bytes"]);
            assert_eq!(sha256(bytes), wanted["sha256"].as_str().unwrap(), "{name}");
            compared += 1;
        }
        assert!(checkpoint.untaken_tensors().is_empty());
    }
    assert_eq!(compared, 8);
}

#[test]
fn a_scalar_is_one_row_of_one() {
    let checkpoint = Checkpoint::open(&data("single.safetensors")).unwrap();
    let scale = checkpoint.tensor("scale").unwrap();
    assert_eq!((scale.rows(), scale.columns(), scale.bytes.len()), (1, 1, 4));
}

#[test]
fn untaken_tensors_are_listed() {
    let checkpoint = Checkpoint::open(&data("single.safetensors")).unwrap();
    checkpoint.tensor("norm.weight").unwrap();
    assert_eq!(checkpoint.untaken_tensors(), ["scale", "embed.weight", "head.weight"]);
    let missing = checkpoint.tensor("lm_head.weight").unwrap_err().to_string();
    assert!(
        missing.ends_with("single.safetensors: tensor \"lm_head.weight\" is missing"),
        "{missing}"
    );
}
