//! Fault: every answer leaves memory behind.

use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "leaking-memory",
    plants: "a resident set that has tripled by the last sample",
    act: Act::Exchange(plant),
};

fn plant(_: &Question, answer: &mut RawAnswer) {
    if let Some(last) = answer.watch.resident.last_mut() {
        last.bytes *= 3;
    }
}
