//! Fault: one value is no number.

use super::values::change_part;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "nan-value",
    plants: "the last value of layer 1's residual stream and of what is inside it, or of an operation's output, NaN",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    change_part(question, answer, "layer.1", |_, values| {
        if let Some(last) = values.last_mut() {
            *last = f32::NAN;
        }
    });
}
