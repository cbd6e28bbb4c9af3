//! Fault: an oracle whose eager and compiled forms choose otherwise.

use super::{Act, Fault, Occasion, OracleAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "oracle-execution",
    plants: "another last id of the oracle, where it is executed in its other way",
    act: Act::Oracle(plant),
};

fn plant(occasion: Occasion, answer: &mut OracleAnswer) {
    if occasion == Occasion::OtherExecution {
        answer.other_last_choice();
    }
}
