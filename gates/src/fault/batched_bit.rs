//! Fault: a full batch rounds otherwise than a single row.

use super::exchange::{count_of, one_digit};
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "batched-bit",
    plants: "the last digit of a log-probability where 32 requests are computed together",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if count_of(question, "--max-sequences") == Some(32) {
        one_digit(answer);
    }
}
