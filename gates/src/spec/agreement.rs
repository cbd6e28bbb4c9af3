//! The tables of the kinds that compare the engine with an oracle.

use serde::{Deserialize, Serialize};

use super::{BandMnats, Because, Spec, Top};

/// `[check.tokenizer]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TokenizerCheck {
    /// Where the texts come from.
    pub corpus: Corpus,
    /// Vocabularies that decode to the text behind one space, each with the reason.
    #[serde(default)]
    pub spaced: Vec<Exception>,
    /// Vocabularies of which decoding does not give the text back, each with the reason.
    #[serde(default)]
    pub lossy: Vec<Exception>,
}

/// What decoding a text's ids must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decoding {
    /// The text.
    Exact,
    /// A space and the text.
    Spaced,
    /// Anything: the vocabulary does not keep the text.
    Lossy,
}

impl TokenizerCheck {
    /// What decoding must give in a vocabulary.
    pub fn decoding(&self, vocabulary: &str) -> Decoding {
        let named = |exception: &Exception| exception.vocabulary == vocabulary;
        if self.lossy.iter().any(named) {
            Decoding::Lossy
        } else if self.spaced.iter().any(named) {
            Decoding::Spaced
        } else {
            Decoding::Exact
        }
    }
}

/// Where the texts of a tokenizer gate come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Corpus {
    /// The spec's `inputs`, answered by the oracle or its golden.
    Inputs,
    /// The vocabularies and their tests that the oracle's pinned source carries.
    OracleVocabularies,
}

/// A vocabulary that is decoded otherwise.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Exception {
    /// Its name in the corpus.
    pub vocabulary: String,
    /// Why.
    pub because: Because,
}

/// `[check.token-exact]`: strict, hence without a key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TokenExactCheck {}

/// `[check.near-tie]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NearTieCheck {
    /// Widest gap, in the oracle's milli-nats, between its first choice and ours that counts as a tie.
    pub band_mnats: BandMnats,
    /// Our token must stand among this many of the oracle's most probable.
    pub top: Top,
    /// What the band was derived from.
    pub source: BandSource,
    /// Why this band.
    pub because: Because,
}

/// What a near-tie band may be derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BandSource {
    /// The oracle's own spread, as its golden has it measured; a wider band voids the run.
    OracleNoise,
    /// One to two units in the last place of a bf16 logit.
    Bf16Ulp,
}

/// What a kind that compares with an oracle demands of the other keys.
pub(super) fn inconsistency(spec: &Spec) -> Option<&'static str> {
    let checks = &spec.check;
    let generates = checks.token_exact.is_some() || checks.near_tie.is_some();
    let from_inputs = checks.tokenizer.as_ref().is_some_and(|check| check.corpus == Corpus::Inputs);
    if checks.tokenizer.is_none() && !generates {
        return Some("[check] is empty: name at least one kind, such as [check.token-exact]");
    }
    if checks.tokenizer.is_some() && generates {
        return Some("[check.tokenizer] stands alone: texts and generations are separate gates");
    }
    if checks.near_tie.is_some() && checks.token_exact.is_none() {
        return Some(
            "[check.near-tie] adjudicates the divergences of [check.token-exact]: add that table",
        );
    }
    if checks.noise_rate.is_some() && checks.near_tie.is_none() {
        return Some("[check.noise-rate] counts the ties of [check.near-tie]: add that table");
    }
    if spec.oracle.is_none() {
        return Some("`oracle` is needed by this check: name a file of oracles/registry");
    }
    if generates != spec.generate.is_some() {
        return Some("[generate] belongs to token-exact and near-tie, and they need it");
    }
    if (generates || from_inputs) && (spec.inputs.is_none() || spec.checkpoint.is_none()) {
        return Some("`inputs` and `checkpoint` are needed by this check");
    }
    let window = spec.generate.as_ref().map(|generate| generate.top_logprobs.0);
    if let (Some(check), Some(window)) = (&checks.near_tie, window)
        && check.top.0 > window
    {
        return Some(
            "[check.near-tie] top is wider than [generate] top-logprobs: the oracle is not asked for that many",
        );
    }
    None
}
