//! Answers under a condition that must not matter: together with others, from a warm cache, in one pass. With these an oracle
//! is compared with itself.

use serde::{Deserialize, Serialize};

use super::{Completion, CompletionRequest, Oracle, Step, VerbError};

/// Completions of requests that were in work at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Together {
    /// One a request, in their order.
    pub completions: Vec<Completion>,
    /// How many requests really were in work at once, at most.
    pub at_once: u32,
}

/// A completion whose prompt, or its beginning, was kept from an earlier request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cached {
    /// The completion.
    pub completion: Completion,
    /// Tokens of the prompt that were not computed again.
    pub cached_tokens: u32,
}

/// What the model chooses inside a text that is given to it as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefillRequest {
    /// The prompt, special tokens included.
    pub prompt_ids: Vec<u32>,
    /// What follows the prompt.
    pub ids: Vec<u32>,
    /// Which of `ids` are asked about: at `n` the prefix is the prompt and `ids[..n]`. Each is below the length of `ids`.
    pub positions: Vec<usize>,
    /// How many alternatives to report at each position.
    pub top_logprobs: u32,
}

impl PrefillRequest {
    /// The prompt and all that follows.
    pub fn whole(&self) -> Vec<u32> {
        [self.prompt_ids.as_slice(), &self.ids].concat()
    }
}

/// Where an oracle reports no ranking inside a prompt: each prefix is a prompt of its own, of which one token is asked.
pub fn prefill_each(
    oracle: &mut (impl Oracle + ?Sized),
    request: &PrefillRequest,
) -> Result<Vec<Step>, VerbError> {
    let read = |position: &usize| {
        let mut prompt_ids = request.prompt_ids.clone();
        prompt_ids.extend(request.ids.iter().take(*position));
        let top_logprobs = request.top_logprobs;
        let one = CompletionRequest { prompt_ids, max_tokens: 1, top_logprobs, ignore_eos: false };
        let Completion { ids, steps, .. } = oracle.complete(&one)?;
        // What ends inside a character has no ranking, and a choice all the same.
        let unranked = ids.first().map(|id| Step { id: *id, logprob: None, top: Vec::new() });
        steps.into_iter().next().or(unranked).ok_or_else(|| VerbError::Malformed {
            oracle: oracle.identity().name.clone(),
            verb: "prefill",
            key: "ids".to_owned(),
            expected: "one token".to_owned(),
            found: "none".to_owned(),
        })
    };
    request.positions.iter().map(read).collect()
}

/// That an oracle does not offer a verb.
pub fn not_offered(oracle: &(impl Oracle + ?Sized), verb: &'static str) -> VerbError {
    let request = "anything: it does not offer it".to_owned();
    VerbError::Unanswerable { oracle: oracle.identity().name.clone(), verb, request }
}
