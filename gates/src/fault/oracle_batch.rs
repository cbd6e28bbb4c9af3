//! Fault: an oracle that answers otherwise in a batch.

use super::{Act, Fault, Occasion, OracleAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "oracle-batch",
    plants: "another last id of the oracle, where requests are in work together",
    act: Act::Oracle(plant),
};

fn plant(occasion: Occasion, answer: &mut OracleAnswer) {
    if occasion == Occasion::Together {
        answer.other_last_choice();
    }
}
