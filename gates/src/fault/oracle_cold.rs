//! Fault: what was meant to be warm is cold.

use super::{Act, Fault, Occasion, OracleAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "oracle-cold",
    plants: "a prefix cache that never has anything",
    act: Act::Oracle(plant),
};

fn plant(occasion: Occasion, answer: &mut OracleAnswer) {
    if occasion == Occasion::Cached {
        answer.count = 0;
    }
}
