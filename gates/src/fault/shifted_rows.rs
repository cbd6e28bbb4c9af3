//! Fault: every row of the logits is that of the position before.

use super::dumped::change_logits;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "shifted-rows",
    plants: "the rows of the logits, one position further on",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    change_logits(question, answer, |width, logits| logits.rotate_right(width));
}
