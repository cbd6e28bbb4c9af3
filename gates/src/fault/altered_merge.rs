//! Fault: an early merge of the vocabulary joins another pair.

use super::checkpoint_file::{CheckpointFile, value};
use super::{Act, Fault, FaultError, Target};

pub(super) const FAULT: Fault = Fault {
    name: "altered-merge",
    plants: "the merge `h e`, which reads `e r` instead",
    act: Act::Checkpoint(plant),
};

/// A merge as GGUF stores it: its length in 8 bytes, then its text.
const MERGE: &[u8] = b"\x03\0\0\0\0\0\0\0h e";
const ALTERED: &[u8] = b"\x03\0\0\0\0\0\0\0e r";

fn plant(target: &Target<'_>, file: &mut CheckpointFile) -> Result<(), FaultError> {
    file.replace(value(target.inspection, "tokenizer.ggml.merges")?, MERGE, ALTERED)
}
