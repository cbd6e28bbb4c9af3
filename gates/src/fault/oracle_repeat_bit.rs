//! Fault: an oracle whose numbers are others each time, while its choices are not.

use super::{Act, Fault, Occasion, OracleAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "oracle-repeat-bit",
    plants: "the last bit of one log-probability of the oracle, whenever it is asked again",
    act: Act::Oracle(plant),
};

fn plant(occasion: Occasion, answer: &mut OracleAnswer) {
    if !matches!(occasion, Occasion::Alone { repeat } if repeat > 0) {
        return;
    }
    let last = answer.completion.steps.last_mut().and_then(|step| step.top.last_mut());
    if let Some((_, logprob)) = last {
        *logprob = f32::from_bits(logprob.to_bits() ^ 1);
    }
}
