//! Fault: the tokenizer's flag whether a beginning-of-text token is added, turned over.

use super::checkpoint_file::{CheckpointFile, value};
use super::{Act, Fault, FaultError, Target};

pub(super) const FAULT: Fault = Fault {
    name: "turned-bos",
    plants: "tokenizer.ggml.add_bos_token, turned over",
    act: Act::Checkpoint(plant),
};

fn plant(target: &Target<'_>, file: &mut CheckpointFile) -> Result<(), FaultError> {
    let flag = value(target.inspection, "tokenizer.ggml.add_bos_token")?;
    file.slice(flag.offset, 1)?[0] ^= 1;
    Ok(())
}
