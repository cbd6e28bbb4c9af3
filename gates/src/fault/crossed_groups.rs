//! Fault: query heads attend to another group's key head.

use oracles::tensors::{Tensor, Tensors};

use super::values::is_op;
use super::{Act, Fault};
use crate::subject::Question;

pub(super) const FAULT: Fault = Fault {
    name: "crossed-groups",
    plants: "the two halves of the key and value heads that attention is given, exchanged",
    act: Act::Given(plant),
};

fn plant(question: &mut Question, given: &mut Tensors) {
    if !is_op(question, "attention") {
        return;
    }
    for name in ["key", "value"] {
        let Some(tensor) = given.0.get_mut(name) else { continue };
        let (Some(mut values), Some(&width)) = (tensor.floats(), tensor.form.shape.last()) else {
            continue;
        };
        values.chunks_exact_mut(width.max(1)).for_each(|row| row.rotate_left(width / 2));
        *tensor = Tensor::of_f32(tensor.form.shape.clone(), &values);
    }
}
