//! Fault: a special token has another name in the vocabulary, so that the template's text no longer meets it.

use super::checkpoint_file::{CheckpointFile, value};
use super::{Act, Fault, FaultError, Target};

pub(super) const FAULT: Fault = Fault {
    name: "renamed-special",
    plants: "<|im_start|>, named <|im_sturt|> in the vocabulary",
    act: Act::Checkpoint(plant),
};

fn plant(target: &Target<'_>, file: &mut CheckpointFile) -> Result<(), FaultError> {
    let tokens = value(target.inspection, "tokenizer.ggml.tokens")?;
    file.replace(tokens, b"<|im_start|>", b"<|im_sturt|>")
}
