//! Fault: a number of threads or of sequences that is accepted and not used.

use super::exchange::has_more;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "ignored-knob",
    plants: "every request computed alone and on one thread, whatever was asked for",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if has_more(question) {
        let requests = question.lines.len();
        answer.stderr_tail =
            format!("answered {requests} requests, at most 1 together, on 1 threads\n");
    }
}
