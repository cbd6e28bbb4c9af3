//! Fault: every row of the logits is that of the position before.

use super::values::change_part;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "shifted-rows",
    plants: "the rows of the logits, one position further on",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    change_part(question, answer, "logits", |width, logits| logits.rotate_right(width));
}
