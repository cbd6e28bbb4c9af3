//! Fault: requests that were meant to be together are answered one by one.

use super::{Act, Fault, Occasion, OracleAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "oracle-queue",
    plants: "an oracle that takes one request after the other where several were sent",
    act: Act::Oracle(plant),
};

fn plant(occasion: Occasion, answer: &mut OracleAnswer) {
    if occasion == Occasion::Together {
        answer.count = 1;
    }
}
