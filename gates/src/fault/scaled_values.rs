//! Fault: a factor of a hundredth too much.

use super::values::change_part;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "scaled-values",
    plants: "all values of layer 3, or an operation's output, times 1.01",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    change_part(question, answer, "layer.3", |_, values| {
        for value in values {
            *value *= 1.01;
        }
    });
}
