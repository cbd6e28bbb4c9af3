//! Fault: what is unknown is accepted.

use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "swallowed-flag",
    plants: "exit status 0 for whatever was refused",
    act: Act::Exchange(plant),
};

fn plant(_: &Question, answer: &mut RawAnswer) {
    if answer.exit == Some(2) {
        answer.exit = Some(0);
    }
}
