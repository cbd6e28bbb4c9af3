//! One bad safetensors file or folder a fault; the messages are the snapshot.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use engine::checkpoint::Checkpoint;

use crate::writer::{open_safetensors, safetensors};

fn messages(cases: &[(&str, Vec<u8>)]) -> String {
    let mut text = String::new();
    for (case, bytes) in cases {
        let message = match open_safetensors(bytes.clone()) {
            Ok(_) => panic!("{case}: the file was accepted"),
            Err(error) => error.to_string(),
        };
        writeln!(text, "{case}\n    {message}").unwrap();
    }
    text
}

#[test]
fn header() {
    let header = |case, header: &str| (case, safetensors(header, &[]));
    let cases = [
        ("empty file", Vec::new()),
        ("seven bytes", vec![0; 7]),
        ("header of 2^64 - 1 bytes", vec![0xff; 16]),
        ("header longer than the file", [&9u64.to_le_bytes()[..], b"{}      "].concat()),
        ("header of nothing", vec![0; 8]),
        header("not JSON", "{\"a\":"),
        header("not an object", "[]"),
        header("two objects", "{}{}"),
        ("not UTF-8", [&4u64.to_le_bytes()[..], b"{\"\xff\""].concat()),
        header("deep nesting", &"[".repeat(100_000)),
        header(
            "unknown field",
            r#"{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0],"strides":[1]}}"#,
        ),
        header("missing field", r#"{"a":{"dtype":"F32","shape":[0]}}"#),
        header(
            "dtype that does not exist",
            r#"{"a":{"dtype":"F31","shape":[0],"data_offsets":[0,0]}}"#,
        ),
        header("negative extent", r#"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}}"#),
        header(
            "extent 2^64",
            r#"{"a":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,0]}}"#,
        ),
        header("fractional offset", r#"{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0.5]}}"#),
        header("three offsets", r#"{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0,0]}}"#),
        header("note that is not text", r#"{"__metadata__":{"step":1}}"#),
        header("duplicate note", r#"{"__metadata__":{"a":"1","a":"2"}}"#),
        header(
            "duplicate name",
            r#"{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"F16","shape":[0],"data_offsets":[0,0]}}"#,
        ),
    ];
    insta::assert_snapshot!(messages(&cases));
}

/// A file whose tensors have these dtypes, shapes and offsets, and that many bytes of data.
fn file(tensors: &[(&str, &str, &str, [u64; 2])], bytes: usize) -> Vec<u8> {
    let lines: Vec<String> = tensors
        .iter()
        .map(|(name, dtype, shape, [begin, end])| {
            format!(
                r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}"#
            )
        })
        .collect();
    safetensors(&format!("{{{}}}", lines.join(",")), &vec![0; bytes])
}

#[test]
fn tensors() {
    let good = file(&[("a", "F32", "[2]", [0, 8]), ("b", "BF16", "[2,3]", [8, 20])], 20);
    open_safetensors(good).unwrap();
    let one = |dtype, shape, offsets, bytes| file(&[("a", dtype, shape, offsets)], bytes);
    let cases = [
        ("dtype without a kernel", one("I64", "[1]", [0, 8], 8)),
        ("dtype of half bytes", one("F4", "[3]", [0, 2], 2)),
        ("shape that overflows", one("F32", "[4294967296,4294967296]", [0, 0], 0)),
        ("bits that overflow", one("F32", "[576460752303423488]", [0, 0], 0)),
        ("shape that overflows before its 0", one("F32", "[4294967296,4294967296,0]", [0, 0], 0)),
        ("offsets that run backwards", one("F32", "[2]", [8, 0], 8)),
        ("offsets too close", one("F32", "[2]", [0, 4], 8)),
        ("offsets too wide", one("F32", "[2]", [0, 12], 12)),
        ("sizes far behind the end", one("F32", "[1099511627776]", [0, 1 << 42], 8)),
        ("offset 2^64 - 1", one("F32", "[0]", [u64::MAX, u64::MAX], 0)),
        ("data start late", one("F32", "[2]", [4, 12], 12)),
        ("file one byte short", one("F32", "[2]", [0, 8], 7)),
        ("file one byte long", one("F32", "[2]", [0, 8], 9)),
        ("overlap", file(&[("a", "F32", "[2]", [0, 8]), ("b", "F32", "[2]", [4, 12])], 12)),
        (
            "the same bytes twice",
            file(&[("a", "F32", "[2]", [0, 8]), ("b", "F32", "[2]", [0, 8])], 8),
        ),
        ("gap", file(&[("a", "F32", "[2]", [0, 8]), ("b", "F32", "[2]", [12, 20])], 20)),
    ];
    insta::assert_snapshot!(messages(&cases));
}

/// The message of the checkpoint in `folder`, with the folder's own path left out.
fn folder_message(write: impl FnOnce(&Path)) -> String {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let error = match Checkpoint::open(folder.path()) {
        Ok(_) => panic!("the folder was accepted"),
        Err(error) => error.to_string(),
    };
    error.replace(folder.path().to_str().unwrap(), "FOLDER")
}

#[test]
fn folders() {
    let single = file(&[("a", "F32", "[2]", [0, 8])], 8);
    let cases = [
        ("empty folder", folder_message(|_| ())),
        (
            "single file and index",
            folder_message(|folder| {
                fs::write(folder.join("model.safetensors"), single).unwrap();
                fs::write(folder.join("model.safetensors.index.json"), "{}").unwrap();
            }),
        ),
        (
            "folder as a file",
            folder_message(|folder| fs::create_dir(folder.join("model.safetensors")).unwrap()),
        ),
    ];
    insta::assert_snapshot!(
        cases.map(|(case, message)| format!("{case}\n    {message}")).join("\n")
    );
}

/// The message of a folder with this index, and these files: `one` and `again` have the tensor a, `two`
/// has b, `both` has p and q.
fn index_message(index: &str) -> String {
    let a = file(&[("a", "F32", "[2]", [0, 8])], 8);
    let b = file(&[("b", "F32", "[1]", [0, 4])], 4);
    let both = file(&[("p", "F32", "[2]", [0, 8]), ("q", "F32", "[2]", [8, 16])], 16);
    folder_message(|folder| {
        for (name, bytes) in [("one", &a), ("again", &a), ("two", &b), ("both", &both)] {
            fs::write(folder.join(format!("{name}.safetensors")), bytes).unwrap();
        }
        fs::write(folder.join("model.safetensors.index.json"), index).unwrap();
    })
}

#[test]
fn indexes_that_are_not_indexes() {
    let cases = [
        ("not JSON", "{"),
        ("unknown field", r#"{"weight_map":{},"x":1}"#),
        ("no map", r#"{"metadata":{}}"#),
        ("name twice", r#"{"weight_map":{"a":"one.safetensors","a":"two.safetensors"}}"#),
    ];
    insta::assert_snapshot!(
        cases.map(|(case, index)| format!("{case}\n    {}", index_message(index))).join("\n")
    );
}

#[test]
fn indexes_that_lie() {
    let cases = [
        ("file outside the folder", r#"{"a":"../one.safetensors"}"#),
        ("absolute file", r#"{"a":"/etc/one.safetensors"}"#),
        ("file of another kind", r#"{"a":"pytorch_model.bin"}"#),
        ("file that is not there", r#"{"a":"three.safetensors"}"#),
        ("tensors exchanged", r#"{"a":"two.safetensors","b":"one.safetensors"}"#),
        ("tensor that no file has", r#"{"a":"one.safetensors","c":"one.safetensors"}"#),
        ("tensor that is not listed", r#"{"p":"both.safetensors"}"#),
        ("tensor in two files", r#"{"a":"one.safetensors","x":"again.safetensors"}"#),
    ];
    let message =
        |map| index_message(&format!(r#"{{"metadata":{{"total_size":8}},"weight_map":{map}}}"#));
    insta::assert_snapshot!(
        cases.map(|(case, map)| format!("{case}\n    {}", message(map))).join("\n")
    );
}

#[test]
fn paths() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("notes.txt"), "hello").unwrap();
    fs::write(path("weights.gguf"), "hello").unwrap();
    let messages = ["missing.gguf", "notes.txt", "weights.gguf"].map(|name| {
        let message = Checkpoint::open(&path(name)).unwrap_err().to_string();
        message.replace(folder.path().to_str().unwrap(), "FOLDER")
    });
    insta::assert_snapshot!(messages.join("\n"));
}
