//! What every answer must satisfy, whoever gives it.

use serde_json::Value;

use crate::verbs::{Completion, CompletionRequest, FinishReason, PrefillRequest, Step, VerbError};

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) key: String,
    pub(super) expected: String,
    pub(super) found: String,
}

impl Fault {
    pub(super) fn new(
        key: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self { key: key.into(), expected: expected.into(), found: found.into() }
    }

    /// As an error of `oracle`.
    pub(super) fn of(self, oracle: &str, verb: &'static str) -> VerbError {
        VerbError::Malformed {
            oracle: oracle.to_owned(),
            verb,
            key: self.key,
            expected: self.expected,
            found: self.found,
        }
    }
}

/// A value, shortened for a message.
pub(super) fn shown(value: Option<&Value>) -> String {
    value.map_or("nothing".to_owned(), |value| value.to_string().chars().take(80).collect())
}

/// The string at `key`.
pub(super) fn text(answer: &Value, key: &str) -> Result<String, Fault> {
    let value = answer.get(key);
    value
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| Fault::new(key, "a string", shown(value)))
}

/// A token id.
pub(super) fn id(value: Option<&Value>, key: &str) -> Result<u32, Fault> {
    value
        .and_then(Value::as_u64)
        .and_then(|id| u32::try_from(id).ok())
        .ok_or_else(|| Fault::new(key, "a token id", shown(value)))
}

/// The list of token ids at `key`.
pub(super) fn ids(answer: &Value, key: &str) -> Result<Vec<u32>, Fault> {
    let value = answer.get(key);
    let Some(list) = value.and_then(Value::as_array) else {
        return Err(Fault::new(key, "a list of token ids", shown(value)));
    };
    list.iter().map(|value| id(Some(value), key)).collect()
}

/// A finite log-probability. A null, which is how JSON shows a NaN, is refused.
pub(super) fn logprob(value: Option<&Value>, key: &str) -> Result<f32, Fault> {
    value
        .and_then(Value::as_f64)
        .map(|logprob| logprob as f32)
        .filter(|logprob| *logprob <= 0.0)
        .ok_or_else(|| Fault::new(key, "a log-probability of at most 0", shown(value)))
}

/// The most probable first, the lower id first among equals; each token once.
pub(super) fn ranked(mut top: Vec<(u32, f32)>, key: &str) -> Result<Vec<(u32, f32)>, Fault> {
    top.sort_by(|(a, p), (b, q)| q.total_cmp(p).then(a.cmp(b)));
    match top.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(Fault::new(key, "each token once", format!("{} twice", pair[0].0))),
        None => Ok(top),
    }
}

/// Whether there are as many ids as were asked for, or fewer that end with the end of the text.
pub(super) fn whole(
    ids: &[u32],
    finish_reason: FinishReason,
    request: &CompletionRequest,
) -> Result<(), Fault> {
    let limit = request.max_tokens as usize;
    let right = match finish_reason {
        FinishReason::Length => ids.len() == limit,
        FinishReason::Stop => !request.ignore_eos && (1..=limit).contains(&ids.len()),
    };
    if right {
        return Ok(());
    }
    let expected = format!("{limit} ids, or fewer that end with the end of the text");
    Err(Fault::new("ids", expected, format!("{} ({finish_reason:?})", ids.len())))
}

/// Greedy: nothing is more probable than what was taken, unless ends were forbidden.
pub(super) fn greedy(step: &Step, request: &CompletionRequest, key: &str) -> Result<(), Fault> {
    let best = step.top.first().map(|(_, logprob)| *logprob).or(step.logprob);
    if step.logprob >= best || request.ignore_eos {
        return Ok(());
    }
    let expected = format!("the most probable token ({best:?})");
    Err(Fault::new(key, expected, format!("{} ({:?})", step.id, step.logprob)))
}

/// The steps inside a prompt, checked in everything that the request decides: one a position, greedy, ranked.
pub(super) fn prefilled(
    steps: Vec<Step>,
    request: &PrefillRequest,
    vocabulary: usize,
) -> Result<Vec<Step>, Fault> {
    let ids: Vec<u32> = steps.iter().map(|step| step.id).collect();
    let asked = CompletionRequest {
        prompt_ids: Vec::new(),
        max_tokens: request.positions.len() as u32,
        top_logprobs: request.top_logprobs,
        ignore_eos: false,
    };
    let (text, finish_reason) = (String::new(), FinishReason::Length);
    complete(Completion { ids, text, finish_reason, steps }, &asked, vocabulary)
        .map(|completion| completion.steps)
}

/// A completion of an oracle that reports every step, checked in everything that the request decides.
pub(super) fn complete(
    completion: Completion,
    request: &CompletionRequest,
    vocabulary: usize,
) -> Result<Completion, Fault> {
    let Completion { ids, text, finish_reason, steps } = completion;
    whole(&ids, finish_reason, request)?;
    let wanted = if request.top_logprobs == 0 { 0 } else { ids.len() };
    if steps.len() != wanted {
        return Err(Fault::new("steps", wanted.to_string(), steps.len().to_string()));
    }
    let window = (request.top_logprobs as usize).min(vocabulary);
    let steps = steps.into_iter().zip(&ids).enumerate().map(|(index, (step, id))| {
        let key = format!("steps[{index}]");
        if step.id != *id {
            return Err(Fault::new(key, id.to_string(), step.id.to_string()));
        }
        let in_range = |logprob: &f32| *logprob <= 0.0;
        if !step.logprob.as_ref().is_some_and(in_range)
            || !step.top.iter().all(|(_, p)| in_range(p))
        {
            return Err(Fault::new(
                key,
                "log-probabilities of at most 0",
                "another number or none",
            ));
        }
        if step.top.len() != window {
            return Err(Fault::new(key, format!("{window} entries"), step.top.len().to_string()));
        }
        let step = Step { top: ranked(step.top, &key)?, ..step };
        greedy(&step, request, &key)?;
        Ok(step)
    });
    let steps = steps.collect::<Result<Vec<_>, _>>()?;
    Ok(Completion { ids, text, finish_reason, steps })
}
