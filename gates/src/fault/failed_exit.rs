//! Fault: the engine answers everything and ends with an error.

use super::{Act, Fault};
use crate::subject::RawAnswer;

pub(super) const FAULT: Fault = Fault {
    name: "failed-exit",
    plants: "exit status 1 behind a complete output",
    act: Act::Process(plant),
};

fn plant(answer: &mut RawAnswer) {
    answer.exit = Some(1);
}
