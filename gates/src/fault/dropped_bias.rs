//! Fault: a projection forgets its bias.

use oracles::tensors::Tensors;

use super::values::is_op;
use super::{Act, Fault};
use crate::subject::Question;

pub(super) const FAULT: Fault =
    Fault { name: "dropped-bias", plants: "linear without the bias", act: Act::Given(plant) };

fn plant(question: &mut Question, given: &mut Tensors) {
    if is_op(question, "linear") {
        given.0.remove("bias");
    }
}
