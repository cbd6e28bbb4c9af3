//! Any bytes as a GGUF file: no panic, errors with a place, and whatever opens can be read to the end.
#![no_main]

use engine::checkpoint::{Checkpoint, Error, FileBytes, Gguf};
use engine::inspect::report;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match Gguf::read(FileBytes::from_vec("fuzz.gguf", bytes.to_vec())) {
        Ok(gguf) => {
            let checkpoint = Checkpoint::Gguf(gguf);
            let report = report(&checkpoint, true).expect("what opens can be reported on");
            serde_json::to_string(&report).expect("a report is JSON");
            let mut end = 0;
            for tensor in checkpoint.contents() {
                assert!(tensor.offset >= end, "tensors overlap");
                end = tensor.offset + tensor.bytes;
            }
            assert!(end <= bytes.len() as u64);
        }
        Err(Error::Gguf { place, .. }) => {
            assert!(place.offset.is_some_and(|offset| offset <= bytes.len() as u64));
        }
        Err(error) => panic!("an error of another kind: {error}"),
    }
});
