//! Fault: kernels for many rows compute something else.

use super::exchange::{is_forced, one_id};
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "wide-rows",
    plants: "another id at the end of what the longest prompt, run in one piece, is continued with",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if !is_forced(question) {
        one_id(answer);
    }
}
