//! Fault: the base of the rotary embedding is another one.

use super::checkpoint_file::{CheckpointFile, value};
use super::{Act, Fault, FaultError, Target};

pub(super) const FAULT: Fault = Fault {
    name: "shifted-rope",
    plants: "rope.freq_base, a quarter of what it was",
    act: Act::Checkpoint(plant),
};

fn plant(target: &Target<'_>, file: &mut CheckpointFile) -> Result<(), FaultError> {
    file.scale_f32(value(target.inspection, ".rope.freq_base")?, 0.25)
}
