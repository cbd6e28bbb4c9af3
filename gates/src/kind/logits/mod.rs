//! Kind `logits`: whole next-token distributions against the oracle's, by divergence, first choice and rank.

pub mod base;
pub mod statistics;
