//! Fault: a process is ready a hundred times later.

use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "slow-start",
    plants: "a hundred times the time to the first answer",
    act: Act::Exchange(plant),
};

fn plant(_: &Question, answer: &mut RawAnswer) {
    answer.watch.lines_ms.iter_mut().for_each(|time| *time *= 100.0);
}
