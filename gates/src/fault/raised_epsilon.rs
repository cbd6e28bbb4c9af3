//! Fault: the epsilon of every norm is far too large.

use super::checkpoint_file::{CheckpointFile, value};
use super::{Act, Fault, FaultError, Target};

pub(super) const FAULT: Fault = Fault {
    name: "raised-epsilon",
    plants: "the epsilon of the norms, 10000 times what it was",
    act: Act::Checkpoint(plant),
};

fn plant(target: &Target<'_>, file: &mut CheckpointFile) -> Result<(), FaultError> {
    file.scale_f32(value(target.inspection, ".attention.layer_norm_rms_epsilon")?, 1e4)
}
