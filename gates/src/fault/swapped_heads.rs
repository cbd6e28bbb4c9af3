//! Fault: two query heads of a layer stand in each other's place.

use super::checkpoint_file::{CheckpointFile, tensor};
use super::{Act, Fault, FaultError, Target};

pub(super) const FAULT: Fault = Fault {
    name: "swapped-heads",
    plants: "the first two query heads of layer 1, exchanged in its q_proj",
    act: Act::Checkpoint(plant),
};

const TENSOR: &str = "model.layers.1.self_attn.q_proj.weight";
const NORM: &str = "model.layers.1.self_attn.q_norm.weight";

fn plant(target: &Target<'_>, file: &mut CheckpointFile) -> Result<(), FaultError> {
    let weight = tensor(target.inspection, TENSOR)?;
    // The norm on a head has as many values as a head.
    let head = tensor(target.inspection, NORM)?.shape.first().copied().unwrap_or(1);
    let rows = weight.shape.first().copied().filter(|rows| *rows >= 2 * head);
    let rows = rows.ok_or_else(|| FaultError::Absent { what: format!("two heads in {TENSOR}") })?;
    let bytes = weight.bytes / rows * head;
    let heads = file.slice(weight.offset, 2 * bytes)?;
    heads.rotate_left(bytes as usize);
    Ok(())
}
