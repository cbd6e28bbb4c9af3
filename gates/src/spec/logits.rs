//! The table of the kind that compares whole distributions.

use serde::Deserialize;

use super::{Because, Positive, Spec};

/// `[check.logits]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LogitsCheck {
    /// Tokens of a chunk, of which the second half is scored.
    pub context: ChunkTokens,
    /// How far the distributions are apart.
    pub divergence: DivergenceBound,
    /// How often both have the same first choice.
    pub same_top: ShareBound,
    /// How far down our side puts the oracle's first choice.
    pub rank: RankBound,
}

/// `[check.logits.divergence]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DivergenceBound {
    /// Largest mean of the Kullback-Leibler divergence of ours from the oracle's distribution, in nats.
    pub most_nats: Nats,
    /// Why so much.
    pub because: Because,
}

/// `[check.logits.same-top]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ShareBound {
    /// Smallest share of positions, 0 to 1.
    pub least: Share,
    /// Why so few.
    pub because: Because,
}

/// `[check.logits.rank]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RankBound {
    /// The lowest rank that the oracle's first choice may have with us; 1 is the first.
    pub most: Positive,
    /// Why so low.
    pub because: Because,
}

/// Fewest tokens of a chunk: what llama-perplexity can score.
const LEAST_TOKENS: u32 = 4;

/// Tokens of a chunk: a few at least, since the first half of them is only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub struct ChunkTokens(pub u32);

impl TryFrom<u32> for ChunkTokens {
    type Error = String;
    fn try_from(value: u32) -> Result<Self, Self::Error> {
        if value >= LEAST_TOKENS {
            Ok(Self(value))
        } else {
            Err(format!("a chunk has at least {LEAST_TOKENS} tokens"))
        }
    }
}

/// A bound in nats, above 0.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub struct Nats(pub f64);

impl TryFrom<f64> for Nats {
    type Error = &'static str;
    fn try_from(value: f64) -> Result<Self, Self::Error> {
        if value > 0.0 && value.is_finite() { Ok(Self(value)) } else { Err("must be above 0") }
    }
}

/// A share, 0 to 1.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub struct Share(pub f64);

impl TryFrom<f64> for Share {
    type Error = &'static str;
    fn try_from(value: f64) -> Result<Self, Self::Error> {
        if (0.0..=1.0).contains(&value) { Ok(Self(value)) } else { Err("must be 0 to 1") }
    }
}

/// What the kind demands of the other keys.
pub(super) fn inconsistency(spec: &Spec) -> Option<&'static str> {
    let checks = &spec.check;
    if checks.tokenizer.is_some() || checks.token_exact.is_some() || checks.near_tie.is_some() {
        return Some(
            "[check.logits] stands alone: distributions along a text and generations are separate gates",
        );
    }
    if spec.oracle.is_none() {
        return Some("`oracle` is needed by this check: name a file of oracles/registry");
    }
    if spec.inputs.is_none() || spec.checkpoint.is_none() {
        return Some("`inputs` and `checkpoint` are needed by this check");
    }
    if spec.generate.is_some() {
        return Some("[generate] does not belong to [check.logits], which generates nothing");
    }
    None
}
