//! Fault: an oracle whose probabilities do not sum to one.

use oracles::verbs::ScoredChunk;

use super::{Act, Fault};

pub(super) const FAULT: Fault = Fault {
    name: "uncertain-rows",
    plants: "half the probability of every token in one row of the oracle",
    act: Act::Scored(plant),
};

fn plant(chunks: &mut [ScoredChunk]) {
    let row = chunks.last_mut().and_then(|chunk| chunk.rows.last_mut());
    for logprob in row.into_iter().flatten() {
        *logprob -= std::f32::consts::LN_2;
    }
}
