//! Fault: a prompt that does not fit one batch is continued from the wrong place.

use super::exchange::{is_forced, other_choice};
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "second-batch",
    plants: "another first choice at the end of the answer that was forced along the longest prompt",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if is_forced(question) {
        other_choice(answer);
    }
}
