//! Any bytes as a file on disk: mapped, opened by its name or magic, every tensor's bytes read and
//! dequantised row by row, every report written.
#![no_main]

use std::fs;
use std::path::Path;

use engine::checkpoint::Checkpoint;
use engine::inspect::{Arguments, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let gguf = bytes.starts_with(b"GG");
    let name = if gguf { "engine-fuzz-walk.gguf" } else { "engine-fuzz-walk.safetensors" };
    let path = Path::new("/dev/shm").join(name);
    fs::write(&path, bytes).expect("the file of the target");
    match Checkpoint::open(&path) {
        Ok(checkpoint) => {
            for tensor in checkpoint.tensors().filter(|tensor| !tensor.bytes.is_empty()) {
                let mut row = vec![0.0; tensor.columns()];
                let row_bytes = tensor.bytes.len() / tensor.rows();
                for bytes in tensor.bytes.chunks_exact(row_bytes) {
                    kernels::dequantize_row(tensor.format, bytes, &mut row).expect("a whole row");
                }
            }
            for (json, full) in [(false, false), (false, true), (true, false), (true, true)] {
                let arguments = Arguments { file: path.clone(), json, full };
                run(&arguments, &mut std::io::sink()).expect("what opens can be reported on");
            }
        }
        Err(error) => assert!(error.to_string().contains(name), "{error}"),
    }
});
