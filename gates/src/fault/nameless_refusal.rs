//! Fault: a refusal does not say what is wrong.

use serde_json::json;

use super::exchange::change_lines;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "nameless-refusal",
    plants: "refusals without a word of what they refuse",
    act: Act::Exchange(plant),
};

fn plant(_: &Question, answer: &mut RawAnswer) {
    if answer.exit == Some(2) {
        "error: invalid input\n".clone_into(&mut answer.stderr_tail);
        change_lines(answer, |line| {
            if let Some(message) = line.pointer_mut("/error/message") {
                *message = json!("invalid input");
            }
        });
    }
}
