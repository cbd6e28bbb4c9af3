//! Fault: fewer requests computed together than were asked for.

use super::exchange::count_of;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "capped-batch",
    plants: "at most two requests computed together where more were asked for",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    let requests = question.lines.len();
    if requests > 2 && count_of(question, "--max-sequences").is_some_and(|asked| asked > 2) {
        answer.stderr_tail =
            format!("answered {requests} requests, at most 2 together, on 1 threads\n");
    }
}
