//! Damaged files: cut at every byte, every bit of a header flipped, and changed at random. Whatever the
//! damage, reading must not panic; an error must name the file and a place inside it; and a file that is
//! accepted must hold what its header says.

use std::path::Path;

use engine::checkpoint::{Checkpoint, Error, Place};
use engine::inspect::report;
use proptest::prelude::*;
use safetensors::SafeTensors;

use crate::writer::{GgufWriter, open_gguf, open_safetensors, safetensors};

/// What became of a damaged file.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Accepted,
    Refused,
}

fn judge(bytes: Vec<u8>, name: &str) -> Outcome {
    let length = bytes.len() as u64;
    let opened = if name == "bad.gguf" {
        open_gguf(bytes).map(Checkpoint::Gguf)
    } else {
        open_safetensors(bytes).map(Checkpoint::Safetensors)
    };
    match opened {
        Ok(checkpoint) => {
            walk(&checkpoint, length);
            Outcome::Accepted
        }
        Err(error) => {
            assert_names_its_place(&error, name, length);
            Outcome::Refused
        }
    }
}

/// Reads everything that the checkpoint offers.
fn walk(checkpoint: &Checkpoint, length: u64) {
    let mut total = 0;
    for tensor in checkpoint.tensors() {
        let row_bytes = tensor.format.row_bytes(tensor.columns()).unwrap();
        assert_eq!(tensor.bytes.len(), tensor.rows() * row_bytes, "{}", tensor.name);
        total += tensor.bytes.len() as u64;
    }
    assert_eq!(total, checkpoint.tensor_bytes());
    assert!(total <= length);
    let report = report(checkpoint, true).unwrap();
    serde_json::to_string(&report).unwrap();
}

fn assert_names_its_place(error: &Error, name: &str, length: u64) {
    let (path, place) = match error {
        Error::Gguf { path, place, .. } | Error::Safetensors { path, place, .. } => (path, place),
        other => panic!("an error of another kind: {other}"),
    };
    assert_eq!(path, Path::new(name));
    let Place { offset: Some(offset), .. } = place else { panic!("no offset: {error}") };
    assert!(*offset <= length, "{error}");
    let message = error.to_string();
    assert!(message.starts_with(&format!("{name}: ")), "{message}");
    assert!(message.contains(&format!("at byte {offset}")), "{message}");
}

const SAFETENSORS_HEADER: &str = concat!(
    r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"#,
    r#""b":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]}}"#
);

fn small_safetensors() -> Vec<u8> {
    safetensors(SAFETENSORS_HEADER, &[7; 20])
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let files =
        [("bad.gguf", GgufWriter::small().build()), ("bad.safetensors", small_safetensors())];
    let mut cut = 0;
    for (name, file) in files {
        assert_eq!(judge(file.clone(), name), Outcome::Accepted);
        for length in 0..file.len() {
            assert_eq!(
                judge(file[..length].to_vec(), name),
                Outcome::Refused,
                "{name} cut to {length}"
            );
            cut += 1;
        }
    }
    assert_eq!(cut, 428 + 170);
}

#[test]
fn every_bit_of_a_gguf_header_can_flip() {
    let file = GgufWriter::small().build();
    let header = GgufWriter::small().header().len();
    let mut outcomes = (0, 0);
    for bit in 0..header * 8 {
        let mut damaged = file.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match judge(damaged, "bad.gguf") {
            Outcome::Accepted => outcomes.0 += 1,
            Outcome::Refused => outcomes.1 += 1,
        }
    }
    // By hand. 122 letters of names and 8 of texts have 7 bits that leave ASCII (the eighth breaks UTF-8);
    // two 4-byte numbers and a bool; uint32 <-> int32, float32; version 3 -> 2; of the tensors' extents
    // 2 -> 3, 3 -> 1 and 3 -> 2, of their types Q4_0 -> Q4_1, Q5_0 and F32 -> F16 still fit the data.
    let accepted = (122 + 8) * 7 + (32 + 32 + 1) + 3 + 1 + 3 + 3;
    assert_eq!(outcomes, (accepted, header * 8 - accepted));
}

#[test]
fn every_bit_of_a_safetensors_header_can_flip() {
    let file = small_safetensors();
    let mut outcomes = (0, 0);
    let bits = (8 + SAFETENSORS_HEADER.len()) * 8;
    for bit in 0..bits {
        let mut damaged = file.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let by_the_crate = SafeTensors::deserialize(&damaged).is_ok();
        match judge(damaged, "bad.safetensors") {
            Outcome::Accepted => {
                assert!(by_the_crate, "bit {bit}: the reference reader refuses it");
                outcomes.0 += 1;
            }
            Outcome::Refused => outcomes.1 += 1,
        }
    }
    // By hand. 7 bits of the letter `a`, 6 of `b` (one makes it a quote), and 7 of each letter of
    // `format` and `pt`.
    let accepted = 7 + 6 + (6 + 2) * 7;
    assert_eq!(outcomes, (accepted, bits - accepted));
}

/// One change to a file.
#[derive(Debug, Clone)]
enum Change {
    Set(usize, u8),
    Insert(usize, u8),
    Remove(usize),
    Number(usize, u64),
    Copy { from: usize, to: usize, length: usize },
}

fn change() -> impl Strategy<Value = Change> {
    let edges = prop::sample::select(vec![
        0,
        1,
        31,
        33,
        1 << 31,
        1 << 32,
        (1 << 61) + 1,
        1 << 62,
        1 << 63,
        u64::MAX - 31,
        u64::MAX,
    ]);
    let at = 0..4096usize;
    prop_oneof![
        (at.clone(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        (at.clone(), any::<u8>()).prop_map(|(at, byte)| Change::Insert(at, byte)),
        at.clone().prop_map(Change::Remove),
        (at.clone(), edges).prop_map(|(at, number)| Change::Number(at, number)),
        (at.clone(), at, 1..64usize).prop_map(|(from, to, length)| Change::Copy {
            from,
            to,
            length
        }),
    ]
}

fn apply(file: &mut Vec<u8>, change: &Change) {
    let length = file.len();
    if length == 0 {
        return;
    }
    match *change {
        Change::Set(at, byte) => file[at % length] = byte,
        Change::Insert(at, byte) => file.insert(at % length, byte),
        Change::Remove(at) => drop(file.remove(at % length)),
        Change::Number(at, number) => {
            let at = at % length;
            let end = (at + 8).min(length);
            file[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
        }
        Change::Copy { from, to, length: count } => {
            let (from, to) = (from % length, to % length);
            let count = count.min(length - from).min(length - to);
            file.copy_within(from..from + count, to);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gguf_changed_at_random(changes in prop::collection::vec(change(), 1..6)) {
        let mut file = GgufWriter::small().build();
        for change in &changes {
            apply(&mut file, change);
        }
        judge(file, "bad.gguf");
    }

    #[test]
    fn safetensors_changed_at_random(changes in prop::collection::vec(change(), 1..6)) {
        let mut file = small_safetensors();
        for change in &changes {
            apply(&mut file, change);
        }
        let by_the_crate = SafeTensors::deserialize(&file).is_ok();
        let outcome = judge(file, "bad.safetensors");
        prop_assert!(by_the_crate || outcome == Outcome::Refused);
    }

    #[test]
    fn what_the_reference_writes_is_read(shapes in prop::collection::vec(prop::collection::vec(0..5usize, 0..4), 0..6)) {
        let data: Vec<Vec<u8>> = shapes.iter().map(|shape| vec![7; shape.iter().product::<usize>() * 4]).collect();
        let views = shapes.iter().zip(&data).enumerate().map(|(number, (shape, data))| {
            let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.clone(), data).unwrap();
            (format!("tensor {number}"), view)
        });
        let file = safetensors::serialize(views, None).unwrap();
        let read = Checkpoint::Safetensors(open_safetensors(file).unwrap());
        prop_assert_eq!(read.tensors().len(), shapes.len());
        for (number, shape) in shapes.iter().enumerate() {
            prop_assert_eq!(read.tensor(&format!("tensor {number}")).unwrap().shape, &shape[..]);
        }
    }
}
