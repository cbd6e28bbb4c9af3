//! Fault: an operation turns by other angles.

use oracles::tensors::Tensors;

use super::values::change_constant;
use super::{Act, Fault};
use crate::subject::Question;

pub(super) const FAULT: Fault = Fault {
    name: "shifted-op-rope",
    plants: "the base of rope, a quarter of what it was",
    act: Act::Given(plant),
};

fn plant(question: &mut Question, _: &mut Tensors) {
    change_constant(question, "base", |base| {
        *base = base.as_f64().map_or(0.0, |base| base / 4.0).into();
    });
}
