//! Fault: one row of one weight of a layer in the middle has another sign.

use super::checkpoint_file::{CheckpointFile, tensor};
use super::{Act, Fault, FaultError, Target};

pub(super) const FAULT: Fault = Fault {
    name: "perturbed-row",
    plants: "the signs of row 5 of layer 2's mlp.down_proj",
    act: Act::Checkpoint(plant),
};

const TENSOR: &str = "model.layers.2.mlp.down_proj.weight";
const ROW: u64 = 5;

fn plant(target: &Target<'_>, file: &mut CheckpointFile) -> Result<(), FaultError> {
    let tensor = tensor(target.inspection, TENSOR)?;
    let rows = tensor.shape.first().copied().filter(|rows| *rows > ROW);
    let rows = rows.ok_or_else(|| FaultError::Absent { what: format!("row {ROW} of {TENSOR}") })?;
    let row = tensor.bytes / rows;
    for bfloat16 in file.slice(tensor.offset + ROW * row, row)?.chunks_exact_mut(2) {
        bfloat16[1] ^= 0x80;
    }
    Ok(())
}
