//! Fault: a temperature is applied that nobody asked for. No ranking changes, so that no choice does.

use super::values::change_part;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

const FACTOR: f32 = 0.9;

pub(super) const FAULT: Fault = Fault {
    name: "scaled-logits",
    plants: "every logit, nine tenths of what it was",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    change_part(question, answer, "logits", |_, logits| {
        for value in logits {
            *value *= FACTOR;
        }
    });
}
