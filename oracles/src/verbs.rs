//! What any oracle answers. `Oracle` is object safe, so a gate is tested against a mock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

mod conditions;
mod scored;
mod tensors;

pub use conditions::{Cached, PrefillRequest, Together, not_offered, prefill_each};
pub use scored::ScoredChunk;
pub use tensors::{InsideQuestion, OpQuestion, TensorQuestion};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// `system`, `user`, `assistant` or whatever the checkpoint's template knows.
    pub role: String,
    /// The text.
    pub content: String,
}

/// Why a completion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FinishReason {
    /// `max_tokens` were generated.
    Length,
    /// The model chose an end-of-generation token; it is the last id, and not part of the text.
    Stop,
}

/// A greedy completion of a prompt given as token ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompletionRequest {
    /// The prompt, special tokens included: nothing is added to it.
    pub prompt_ids: Vec<u32>,
    /// How many tokens to generate at most; at least 1.
    pub max_tokens: u32,
    /// How many alternatives to report at each step; 0 reports none, and `steps` is then empty.
    pub top_logprobs: u32,
    /// Go on after an end-of-generation token (it can then not be chosen).
    pub ignore_eos: bool,
}

/// One generated position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The chosen token.
    pub id: u32,
    /// Its natural-log probability under the log-softmax of the raw logits; `None` where the oracle
    /// reports none (llama.cpp's server: a token that ends inside a character).
    pub logprob: Option<f32>,
    /// The most probable tokens with their natural-log probabilities, most probable first,
    /// the lower id first among equals; empty where the oracle reports none.
    pub top: Vec<(u32, f32)>,
}

/// An oracle's answer to a [`CompletionRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// The generated ids, in order.
    pub ids: Vec<u32>,
    /// Their text as the oracle shows it.
    pub text: String,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// One entry per id when alternatives were asked for, else empty.
    pub steps: Vec<Step>,
}

/// Who answered: read back from the running process and its files, not from the pin alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The registry name, `llama-cpp`.
    pub name: String,
    /// The pinned version of its source package.
    pub version: String,
    /// sha256 of the source package, lowercase hex.
    pub source_sha256: String,
    /// sha256 of the executable that ran.
    pub binary_sha256: String,
    /// What the process and the build's manifest say about the build: build info, compiler, cmake.
    pub build: BTreeMap<String, String>,
    /// The command line really used, without the executable's path and the checkpoint's folder.
    pub flags: Vec<String>,
    /// CPU features from the oracle's own start-up line, such as `AVX2`.
    pub cpu_features: Vec<String>,
    /// What the process says about its configuration: context, threads, batch sizes, KV types.
    pub settings: BTreeMap<String, String>,
}

/// An inference engine that answers questions. Every error means: no answer, not a part of one.
pub trait Oracle {
    /// Who is answering.
    fn identity(&self) -> &Identity;

    /// The ids of `text`. `add_special` lets the tokenizer add its BOS (or whatever it adds);
    /// `parse_special` reads `<|name|>` in the text as that token.
    fn tokenize(
        &mut self,
        text: &str,
        add_special: bool,
        parse_special: bool,
    ) -> Result<Vec<u32>, VerbError>;

    /// The text of `ids`, special tokens shown.
    fn detokenize(&mut self, ids: &[u32]) -> Result<String, VerbError>;

    /// The checkpoint's chat template over `messages`, ending where the assistant begins.
    fn render_chat(&mut self, messages: &[Message]) -> Result<String, VerbError>;

    /// A greedy completion.
    fn complete(&mut self, request: &CompletionRequest) -> Result<Completion, VerbError>;

    /// Greedy completions of `requests`, `width` of them in work at once. An oracle without this verb refuses it: answering
    /// one after the other is not the same question.
    fn complete_together(
        &mut self,
        _requests: &[CompletionRequest],
        _width: u32,
    ) -> Result<Together, VerbError> {
        Err(not_offered(self, "complete_together"))
    }

    /// A greedy completion that may use what was kept of the prompt from an earlier request.
    fn complete_cached(&mut self, _request: &CompletionRequest) -> Result<Cached, VerbError> {
        Err(not_offered(self, "complete_cached"))
    }

    /// The choice and the ranking behind each prefix that is asked about, the prefix evaluated as a prompt.
    fn prefill(&mut self, request: &PrefillRequest) -> Result<Vec<Step>, VerbError> {
        prefill_each(self, request)
    }

    /// Writes a safetensors file of tensors.
    fn tensors(&mut self, _question: &TensorQuestion, _path: &Path) -> Result<(), VerbError> {
        Err(not_offered(self, "tensors"))
    }

    /// Whole distributions along `text`, cut into chunks of `context` tokens; what fills no chunk is left out.
    fn score(&mut self, _text: &str, _context: usize) -> Result<Vec<ScoredChunk>, VerbError> {
        Err(not_offered(self, "score"))
    }
}

/// Why an oracle gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum VerbError {
    /// The process ended while it should have answered.
    #[error(
        "oracle {oracle} died while answering {verb}: {status}; the end of its log {log}:\n{tail}"
    )]
    Died {
        /// Registry name.
        oracle: String,
        /// The verb that was asked.
        verb: &'static str,
        /// How it ended, as the operating system says it.
        status: String,
        /// Its log file.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// The request could not be sent or its answer not be read.
    #[error("oracle {oracle} did not answer {verb}: {reason}")]
    Transport {
        /// Registry name.
        oracle: String,
        /// The verb that was asked.
        verb: &'static str,
        /// What failed.
        reason: String,
        /// The client's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The oracle answered with an error.
    #[error("oracle {oracle} refused {verb} with status {status}: {message}")]
    Refused {
        /// Registry name.
        oracle: String,
        /// The verb that was asked.
        verb: &'static str,
        /// HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// The answer does not have the shape it must have.
    #[error("oracle {oracle} answered {verb} with a bad {key}: expected {expected}, found {found}")]
    Malformed {
        /// Registry name.
        oracle: String,
        /// The verb that was asked.
        verb: &'static str,
        /// Where in the answer.
        key: String,
        /// What must stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A mock was asked something that its file has no answer for, or a verb is not offered.
    #[error("oracle {oracle} has no answer to {verb} for {request}")]
    Unanswerable {
        /// Registry name.
        oracle: String,
        /// The verb that was asked.
        verb: &'static str,
        /// The question.
        request: String,
    },
}
