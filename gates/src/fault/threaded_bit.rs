//! Fault: a log-probability loses its last bit when several threads compute.

use super::exchange::{count_of, one_digit};
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "threaded-bit",
    plants: "the last digit of a log-probability in the answers of 2 threads",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if count_of(question, "--threads") == Some(2) {
        one_digit(answer);
    }
}
