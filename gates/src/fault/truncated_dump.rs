//! Fault: the file of a dump ends too early, as on a full disk.

use super::{Act, Fault};
use crate::subject::{Question, RawAnswer, Verb};

pub(super) const FAULT: Fault = Fault {
    name: "truncated-dump",
    plants: "the second half of the dump's file, cut off",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if question.verb == Verb::Dump {
        answer.file.truncate(answer.file.len() / 2);
    }
}
