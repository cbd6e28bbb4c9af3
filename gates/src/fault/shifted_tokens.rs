//! Fault: values stand a token too late.

use super::values::change_part;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "shifted-tokens",
    plants: "the rows of layer 2's values, or of an operation's output, moved down by one",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    change_part(question, answer, "layer.2", |width, values| values.rotate_right(width));
}
