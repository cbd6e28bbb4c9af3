//! Fault: the engine has no such operation.

use oracles::tensors::Tensors;

use super::values::is_op;
use super::{Act, Fault};
use crate::subject::Question;

pub(super) const FAULT: Fault = Fault {
    name: "unknown-op",
    plants: "embedding, under a name that the engine does not know",
    act: Act::Given(plant),
};

fn plant(question: &mut Question, _: &mut Tensors) {
    if is_op(question, "embedding")
        && let Some(name) = question.arguments.first_mut()
    {
        name.push_str("-of-tomorrow");
    }
}
