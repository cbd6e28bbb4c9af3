//! Fault: something else keeps the host busy while starts are timed.

use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "busy-host",
    plants: "a host that is 95 % busy just before each start",
    act: Act::Exchange(plant),
};

fn plant(_: &Question, answer: &mut RawAnswer) {
    answer.watch.foreign_percent = answer.watch.foreign_percent.map(|_| 95.0);
}
