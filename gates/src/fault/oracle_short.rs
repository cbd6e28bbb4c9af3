//! Fault: an oracle that leaves a token out in a batch.

use super::{Act, Fault, Occasion, OracleAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "oracle-short",
    plants: "an answer of the oracle without its last token, where requests are in work together",
    act: Act::Oracle(plant),
};

fn plant(occasion: Occasion, answer: &mut OracleAnswer) {
    if occasion == Occasion::Together {
        answer.completion.ids.pop();
        answer.completion.steps.pop();
    }
}
