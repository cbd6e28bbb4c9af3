//! Fault: the file with an operation's output ends too early.

use super::{Act, Fault};
use crate::subject::{Question, RawAnswer, Verb};

pub(super) const FAULT: Fault = Fault {
    name: "truncated-output",
    plants: "the last byte of an operation's output, cut off",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if question.verb == Verb::Op {
        answer.file.pop();
    }
}
