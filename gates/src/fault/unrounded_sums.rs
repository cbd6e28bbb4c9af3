//! Fault: sums of bfloat16 are not rounded to it.

use oracles::tensors::Tensors;

use super::values::{argument_mut, is_op};
use super::{Act, Fault};
use crate::subject::Question;

pub(super) const FAULT: Fault = Fault {
    name: "unrounded-sums",
    plants: "add in float32 where bfloat16 was asked",
    act: Act::Given(plant),
};

fn plant(question: &mut Question, _: &mut Tensors) {
    if is_op(question, "add")
        && let Some(dtype) = argument_mut(question, "--dtype")
    {
        "float32".clone_into(dtype);
    }
}
