//! Any bytes as a safetensors file: what we accept, the reference reader accepts and reads alike.
#![no_main]

use engine::checkpoint::{Checkpoint, Error, FileBytes, Safetensors};
use libfuzzer_sys::fuzz_target;
use safetensors::SafeTensors;

fuzz_target!(|bytes: &[u8]| {
    match Safetensors::read(FileBytes::from_vec("fuzz.safetensors", bytes.to_vec())) {
        Ok(ours) => {
            let ours = Checkpoint::Safetensors(ours);
            let theirs = SafeTensors::deserialize(bytes).expect("the reference reads what we read");
            assert_eq!(ours.tensors().len(), theirs.len());
            for tensor in ours.tensors() {
                let their = theirs.tensor(tensor.name).expect("the reference has the tensor");
                assert_eq!(their.dtype().to_string(), tensor.format.name());
                assert_eq!((their.shape(), their.data()), (tensor.shape, tensor.bytes));
            }
        }
        Err(Error::Safetensors { place, .. }) => {
            assert!(place.offset.is_some_and(|offset| offset <= bytes.len() as u64));
        }
        Err(error) => panic!("an error of another kind: {error}"),
    }
});
