//! Fault: one row of the embedding changes its sign, that of the token which the oracle generates most often.
//!
//! With a tied head the row is also that token's output weight: its logit changes its sign, so it cannot stay the choice.

use std::collections::BTreeMap;

use super::checkpoint_file::{CheckpointFile, tensor};
use super::{Act, Fault, FaultError, Target};

const TENSOR: &str = "token_embd.weight";

pub(super) const FAULT: Fault = Fault {
    name: "flipped-row",
    plants: "the sign bits of one row of token_embd.weight, of the token that occurs most often in the answers",
    act: Act::Checkpoint(plant),
};

fn plant(target: &Target<'_>, file: &mut CheckpointFile) -> Result<(), FaultError> {
    let tensor = tensor(target.inspection, TENSOR)?;
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for id in target.references.iter().flat_map(|reference| &reference.ids) {
        *counts.entry(*id).or_default() += 1;
    }
    let token = counts.into_iter().max_by_key(|(_, count)| *count).map(|(id, _)| id);
    let token = token.ok_or_else(|| FaultError::Absent { what: "generated token".to_owned() })?;
    let rows = tensor.shape.get(1).copied().filter(|rows| *rows > u64::from(token));
    let rows =
        rows.ok_or_else(|| FaultError::Absent { what: format!("row {token} of {TENSOR}") })?;
    let row_bytes = tensor.bytes / rows;
    file.flip_scales(tensor, u64::from(token) * row_bytes, row_bytes)
}
