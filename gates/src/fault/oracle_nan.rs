//! Fault: an oracle whose log-probability is no number.

use super::{Act, Fault, Occasion, OracleAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "oracle-nan",
    plants: "NaN in place of one log-probability of the oracle",
    act: Act::Oracle(plant),
};

fn plant(occasion: Occasion, answer: &mut OracleAnswer) {
    let is_planted = matches!(occasion, Occasion::Alone { .. });
    let last = answer.completion.steps.last_mut().filter(|_| is_planted);
    if let Some((_, logprob)) = last.and_then(|step| step.top.last_mut()) {
        *logprob = f32::NAN;
    }
}
