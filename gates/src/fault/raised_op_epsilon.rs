//! Fault: an operation adds too much before its root.

use oracles::tensors::Tensors;

use super::values::change_constant;
use super::{Act, Fault};
use crate::subject::Question;

pub(super) const FAULT: Fault = Fault {
    name: "raised-op-epsilon",
    plants: "the epsilon of rms-norm, 10000 times what it was",
    act: Act::Given(plant),
};

fn plant(question: &mut Question, _: &mut Tensors) {
    change_constant(question, "eps", |eps| {
        *eps = eps.as_f64().map_or(0.0, |eps| (eps * 1e4).min(0.9)).into();
    });
}
