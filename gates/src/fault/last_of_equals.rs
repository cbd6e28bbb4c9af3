//! Fault: of equal logits the highest id is taken.

use std::path::Path;

use oracles::tensors::{Tensor, Tensors};

use super::values::{change, is_op};
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "last-of-equals",
    plants: "argmax that takes the last of the greatest",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if !is_op(question, "argmax") {
        return;
    }
    let inputs = question.arguments.iter().position(|argument| argument == "--inputs");
    let inputs = inputs.and_then(|at| question.arguments.get(at + 1));
    let logits = inputs.and_then(|path| Tensors::read(Path::new(path)).ok()?.0.remove("logits"));
    let Some(ids) = logits.as_ref().and_then(last_maxima) else { return };
    change(question, answer, |tensors| {
        if let Some(tensor) = tensors.0.get_mut("ids") {
            tensor.bytes = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        }
    });
}

fn last_maxima(logits: &Tensor) -> Option<Vec<i64>> {
    let (values, width) = (logits.floats()?, *logits.form.shape.last()?);
    let last = |row: &[f32]| {
        // `max_by` gives the last of equals.
        row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(id, _)| id as i64)
    };
    values.chunks_exact(width.max(1)).map(last).collect()
}
