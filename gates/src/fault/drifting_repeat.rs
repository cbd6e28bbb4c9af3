//! Fault: the second run of the same requests chooses another token.

use super::exchange::one_id;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "drifting-repeat",
    plants: "another id in the last answer, whenever the same is asked again",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if question.repeat > 0 {
        one_id(answer);
    }
}
