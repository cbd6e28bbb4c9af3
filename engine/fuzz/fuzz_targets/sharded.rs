//! The index of a folder, and one of its two files: the input's bytes before and after its first NUL.
#![no_main]

use std::fs;
use std::path::Path;

use engine::checkpoint::Checkpoint;
use libfuzzer_sys::fuzz_target;

const GOOD: &str = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}    "#;

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|&byte| byte == 0).unwrap_or(input.len());
    let (index, shard) = (&input[..end], input.get(end + 1..).unwrap_or_default());
    let folder = Path::new("/dev/shm/engine-fuzz-sharded");
    fs::create_dir_all(folder).expect("the folder of the target");
    let good = [&(GOOD.len() as u64).to_le_bytes()[..], GOOD.as_bytes(), &[0; 4]].concat();
    fs::write(folder.join("a.safetensors"), good).expect("the first file");
    fs::write(folder.join("b.safetensors"), shard).expect("the second file");
    fs::write(folder.join("model.safetensors.index.json"), index).expect("the index");
    match Checkpoint::open(folder) {
        Ok(checkpoint) => {
            let bytes: usize = checkpoint.tensors().map(|tensor| tensor.bytes.len()).sum();
            assert_eq!(bytes as u64, checkpoint.tensor_bytes());
        }
        Err(error) => assert!(error.to_string().contains("engine-fuzz-sharded"), "{error}"),
    }
});
