//! Fault: an oracle that answers otherwise from a warm cache.

use super::{Act, Fault, Occasion, OracleAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "oracle-cache",
    plants: "another last id of the oracle, where its prompt was cached",
    act: Act::Oracle(plant),
};

fn plant(occasion: Occasion, answer: &mut OracleAnswer) {
    if occasion == Occasion::Cached {
        answer.other_last_choice();
    }
}
