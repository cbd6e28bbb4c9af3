//! Fault: the base of the rotary embedding is another one.

use super::checkpoint_file::CheckpointFile;
use super::{Act, Fault, FaultError, Target};

pub(super) const FAULT: Fault = Fault {
    name: "shifted-rope",
    plants: "the base of the rotary embedding, a quarter of what it was",
    act: Act::Checkpoint(plant),
};

fn plant(target: &Target<'_>, file: &mut CheckpointFile) -> Result<(), FaultError> {
    file.scale_setting(target.inspection, [".rope.freq_base", "rope_theta"], 0.25)
}
