//! Fault: rope turns other pairs of values.

use oracles::tensors::Tensors;

use super::values::change_constant;
use super::{Act, Fault};
use crate::subject::Question;

pub(super) const FAULT: Fault = Fault {
    name: "other-pairs",
    plants: "rope on adjacent pairs where halves were asked, and the other way round",
    act: Act::Given(plant),
};

fn plant(question: &mut Question, _: &mut Tensors) {
    change_constant(question, "pairs", |pairs| {
        *pairs = if pairs == "halves" { "adjacent" } else { "halves" }.into();
    });
}
