//! Fault: a flag that is said to change nothing changes an answer.

use super::exchange::{has_more, one_id};
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "heeded-flag",
    plants: "another id in an answer, whenever a flag stands behind --json-lines",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if has_more(question) {
        one_id(answer);
    }
}
