//! Fault: the weights of one projection change their sign.

use super::checkpoint_file::{CheckpointFile, tensor};
use super::{Act, Fault, FaultError, Target};

const TENSOR: &str = "blk.0.attn_v.weight";

pub(super) const FAULT: Fault = Fault {
    name: "flipped-scales",
    plants: "the sign bit of every block scale of blk.0.attn_v.weight",
    act: Act::Checkpoint(plant),
};

fn plant(target: &Target<'_>, file: &mut CheckpointFile) -> Result<(), FaultError> {
    let tensor = tensor(target.inspection, TENSOR)?;
    file.flip_scales(tensor, 0, tensor.bytes)
}
