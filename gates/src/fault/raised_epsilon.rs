//! Fault: the epsilon of every norm is far too large.

use super::checkpoint_file::CheckpointFile;
use super::{Act, Fault, FaultError, Target};

pub(super) const FAULT: Fault = Fault {
    name: "raised-epsilon",
    plants: "the epsilon of the norms, 10000 times what it was",
    act: Act::Checkpoint(plant),
};

fn plant(target: &Target<'_>, file: &mut CheckpointFile) -> Result<(), FaultError> {
    let keys = [".attention.layer_norm_rms_epsilon", "rms_norm_eps"];
    file.scale_setting(target.inspection, keys, 1e4)
}
