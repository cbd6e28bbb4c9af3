//! What both sides answered, before anyone judges it.

use oracles::golden::GoldenCase;
use serde::{Deserialize, Serialize};

use crate::kind::alone::AloneSamples;
use crate::kind::inside::InsideSamples;
use crate::kind::logits::LogitChunk;
use crate::kind::oracle_consistency::ConsistencySample;
use crate::spec::Decoding;
use crate::subject::{Defect, Generated, Tokenized, TopEntry};

/// Everything that a run collected.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Samples {
    /// Generations.
    Generations(Vec<GenerationSample>),
    /// Tokenised texts, one corpus a vocabulary.
    Texts(Vec<TextCorpus>),
    /// Whole distributions, one chunk of the text each.
    Logits(Vec<LogitChunk>),
    /// What an oracle answered to itself.
    Consistency(Box<ConsistencySample>),
    /// How far values inside the model lie from the oracle's.
    Inside(Box<InsideSamples>),
    /// What the engine answered where it is judged alone.
    Alone(Box<AloneSamples>),
}

/// One case of a generation gate.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerationSample {
    /// The oracle's answer, live or from its golden.
    pub reference: GoldenCase,
    /// What the subject generated on its own.
    pub subject: Result<Generated, Defect>,
    /// How the subject rendered the conversation; `None` for a plain text.
    pub rendered: Option<Result<Tokenized, Defect>>,
    /// What the subject answered when the oracle's ids were forced on it; `None` when it was not asked.
    pub forced: Option<Result<Generated, Defect>>,
    /// The oracle's second reading at the first divergence; `None` without a live oracle or without a divergence.
    pub reread: Option<Reread>,
}

/// The oracle's probabilities after a prefix that was evaluated again in one batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reread {
    /// Index of the generated token.
    pub position: usize,
    /// Its most probable tokens there, best first.
    pub top: Vec<TopEntry>,
}

/// The texts of one vocabulary.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextCorpus {
    /// Name of the vocabulary or the checkpoint.
    pub name: String,
    /// What decoding must give.
    pub decoding: Decoding,
    /// Its texts.
    pub texts: Vec<TextSample>,
}

/// One text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextSample {
    /// Case id.
    pub id: String,
    /// The text, or the oracle's rendering of a conversation.
    pub text: String,
    /// The oracle's ids.
    pub expected: Vec<u32>,
    /// The subject's ids, and its rendering when a conversation was asked.
    pub encoded: Result<Tokenized, Defect>,
    /// The subject's text of the oracle's ids.
    pub decoded: Result<Tokenized, Defect>,
    /// Whether a conversation was asked.
    pub conversation: bool,
}

/// The oracle's top entries at a step, in the subject's form.
pub fn top_of(step: &oracles::verbs::Step) -> Vec<TopEntry> {
    step.top.iter().map(|(id, logprob)| (*id, f64::from(*logprob))).collect()
}
