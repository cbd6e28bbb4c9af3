//! Fault: every answer leaves memory behind.

use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "leaking-memory",
    plants: "a resident set that has tripled by the middle of the run",
    act: Act::Exchange(plant),
};

fn plant(_: &Question, answer: &mut RawAnswer) {
    // The very last sample may be of a process that is ending and has given most of it back.
    let half = answer.watch.resident.len() / 2;
    answer.watch.resident.iter_mut().skip(half).for_each(|sample| sample.bytes *= 3);
}
