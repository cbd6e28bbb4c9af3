//! Kind `logits`: whole next-token distributions against the oracle's, by divergence, first choice and rank.
//!
//! The inputs' text is cut into chunks, and both sides say of every token of the vocabulary how probable it is behind each
//! position of a chunk's second half. Of each position what it contributes is kept, and both sides' most probable tokens;
//! the rows themselves, as wide as the vocabulary, are not.

pub mod position;
pub mod statistics;

pub use position::{LogitChunk, LogitPosition, chunk, log_softmax};

use crate::compare;
use crate::spec::LogitsCheck;
use statistics::Statistics;

/// The kind's name in specs and records.
pub const NAME: &str = "logits";

/// What it compares, in words.
pub fn explain(check: &LogitsCheck) -> String {
    let LogitsCheck { context, divergence, same_top, rank } = check;
    format!(
        "whole next-token distributions behind every position of the second half of each chunk of {} tokens.\n\
         mean Kullback-Leibler divergence at most {} nats, because: {}\n\
         same most probable token in at least {} % of positions, because: {}\n\
         the oracle's first choice nowhere below rank {}, because: {}",
        context.0,
        divergence.most_nats.0,
        divergence.because.0,
        100.0 * same_top.least.0,
        same_top.because.0,
        rank.most.0,
        rank.because.0,
    )
}

/// The bounds that the figures do not keep, each in a sentence.
pub fn exceeded(check: &LogitsCheck, figures: &Statistics, worst_rank: usize) -> Vec<String> {
    let mut sentences = Vec::new();
    let most = check.divergence.most_nats.0;
    if !compare::within(figures.divergence.value, most) {
        let mean = figures.divergence.value;
        sentences.push(format!("mean divergence {mean:.6} nats is above {most}"));
    }
    let least = check.same_top.least.0;
    if !compare::within(least - figures.same_top.value, 0.0) {
        let (share, least) = (100.0 * figures.same_top.value, 100.0 * least);
        sentences.push(format!("same top {share:.3} % is below {least} %"));
    }
    let most = check.rank.most.0 as usize;
    if worst_rank > most {
        sentences
            .push(format!("the oracle's first choice has rank {worst_rank}, allowed is {most}"));
    }
    sentences
}
