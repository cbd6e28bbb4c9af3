//! Fault: with more threads the answers come in another order.

use super::exchange::{count_of, lines_mut};
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "threaded-order",
    plants: "the first two answer lines of 4 threads, exchanged",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    if count_of(question, "--threads") == Some(4) {
        lines_mut(answer, |lines| {
            if lines.len() > 1 {
                lines.swap(0, 1);
            }
        });
    }
}
