//! Fault: the chat template writes another role.

use super::checkpoint_file::{CheckpointFile, value};
use super::{Act, Fault, FaultError, Target};

pub(super) const FAULT: Fault = Fault {
    name: "altered-template",
    plants: "`assistant` in the chat template, spelt `assistent`",
    act: Act::Checkpoint(plant),
};

fn plant(target: &Target<'_>, file: &mut CheckpointFile) -> Result<(), FaultError> {
    let template = value(target.inspection, "tokenizer.chat_template")?;
    file.replace(template, b"<|im_start|>assistant", b"<|im_start|>assistent")
}
