//! Fault: the engine says nothing and claims success.

use super::{Act, Fault};
use crate::subject::RawAnswer;

pub(super) const FAULT: Fault = Fault {
    name: "empty-output",
    plants: "an empty output with exit status 0",
    act: Act::Process(plant),
};

fn plant(answer: &mut RawAnswer) {
    answer.stdout.clear();
    answer.exit = Some(0);
}
