//! Fault: requests that are computed together see each other.

use super::exchange::{count_of, one_id};
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "leaking-batch",
    plants: "another id in an answer, as soon as several requests are computed together",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if count_of(question, "--max-sequences").is_some_and(|count| count > 1) {
        one_id(answer);
    }
}
