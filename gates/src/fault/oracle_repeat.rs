//! Fault: an oracle that does not repeat itself.

use super::{Act, Fault, Occasion, OracleAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "oracle-repeat",
    plants: "another last id of the oracle, whenever it is asked again",
    act: Act::Oracle(plant),
};

fn plant(occasion: Occasion, answer: &mut OracleAnswer) {
    if matches!(occasion, Occasion::Alone { repeat } if repeat > 0) {
        answer.other_last_choice();
    }
}
