//! Fault: an oracle that chooses otherwise in a prefill pass than when it decodes.

use super::{Act, Fault, Occasion, OracleAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "oracle-prefill",
    plants: "another choice of the oracle at the last position that is read in a prefill pass",
    act: Act::Oracle(plant),
};

fn plant(occasion: Occasion, answer: &mut OracleAnswer) {
    if occasion == Occasion::Prefilled {
        answer.other_last_choice();
    }
}
