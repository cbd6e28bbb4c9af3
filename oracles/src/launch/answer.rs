//! Reading a server's answers: pure functions that believe nothing.

use serde_json::Value;

use crate::verbs::{Completion, CompletionRequest, FinishReason, Step};

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
}

/// The value at `key`, shortened for a message.
fn shown(value: Option<&Value>) -> String {
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

fn id(value: Option<&Value>, key: &str) -> Result<u32, Fault> {
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
fn logprob(entry: &Value, key: &str) -> Result<f32, Fault> {
    let value = entry.get("logprob");
    value
        .and_then(Value::as_f64)
        .map(|logprob| logprob as f32)
        .filter(|logprob| *logprob <= 0.0)
        .ok_or_else(|| Fault::new(key, "a log-probability of at most 0", shown(value)))
}

/// A completion, with everything checked that the request decides.
pub(super) fn completion(
    answer: &Value,
    request: &CompletionRequest,
    vocabulary: Option<usize>,
) -> Result<Completion, Fault> {
    let ids = ids(answer, "tokens")?;
    let text = text(answer, "content")?;
    let expect = |key: &str, expected: Value| match answer.pointer(key) {
        Some(found) if *found == expected => Ok(()),
        found => Err(Fault::new(key, expected.to_string(), shown(found))),
    };
    expect("/truncated", Value::Bool(false))?;
    expect("/tokens_evaluated", request.prompt_ids.len().into())?;
    expect("/timings/cache_n", 0.into())?;
    let limit = request.max_tokens as usize;
    let finish_reason = match answer.get("stop_type").and_then(Value::as_str) {
        Some("limit") => FinishReason::Length,
        Some("eos") => FinishReason::Stop,
        _ => return Err(Fault::new("stop_type", "limit or eos", shown(answer.get("stop_type")))),
    };
    let right_length = match finish_reason {
        FinishReason::Length => ids.len() == limit,
        FinishReason::Stop => (1..=limit).contains(&ids.len()),
    };
    if !right_length {
        let expected = format!("{limit} ids, or fewer that end with the end of the text");
        return Err(Fault::new("tokens", expected, ids.len().to_string()));
    }
    let steps = steps(answer, request, &ids, vocabulary)?;
    Ok(Completion { ids, text, finish_reason, steps })
}

fn steps(
    answer: &Value,
    request: &CompletionRequest,
    ids: &[u32],
    vocabulary: Option<usize>,
) -> Result<Vec<Step>, Fault> {
    if request.top_logprobs == 0 {
        return Ok(Vec::new());
    }
    let key = "completion_probabilities";
    let list = answer.get(key).and_then(Value::as_array);
    let Some(list) = list.filter(|list| list.len() == ids.len()) else {
        let found = list.map_or("nothing".to_owned(), |list| list.len().to_string());
        return Err(Fault::new(key, format!("{} entries", ids.len()), found));
    };
    let wanted = (request.top_logprobs as usize).min(vocabulary.unwrap_or(usize::MAX));
    list.iter()
        .zip(ids)
        .enumerate()
        .map(|(index, (entry, id))| {
            let key = format!("{key}[{index}]");
            let step = step(entry, &key, wanted)?;
            if step.id != *id {
                return Err(Fault::new(key, format!("token {id}"), step.id.to_string()));
            }
            // Greedy: nothing is more probable than what was taken, unless ends were forbidden.
            let best = step.top.first().map_or(step.logprob, |(_, logprob)| *logprob);
            if step.logprob >= best || request.ignore_eos {
                return Ok(step);
            }
            let expected = format!("the most probable token ({best})");
            Err(Fault::new(key, expected, format!("{} ({})", step.id, step.logprob)))
        })
        .collect()
}

fn step(entry: &Value, key: &str, wanted: usize) -> Result<Step, Fault> {
    let top_key = format!("{key}.top_logprobs");
    let list = entry.get("top_logprobs").and_then(Value::as_array);
    let Some(list) = list.filter(|list| list.len() == wanted) else {
        let found = list.map_or("nothing".to_owned(), |list| list.len().to_string());
        return Err(Fault::new(top_key, format!("{wanted} entries"), found));
    };
    let mut top = list
        .iter()
        .map(|entry| Ok((id(entry.get("id"), &top_key)?, logprob(entry, &top_key)?)))
        .collect::<Result<Vec<_>, Fault>>()?;
    // The server's order among equals is not defined; ours is: the lower id first.
    top.sort_by(|(a, p), (b, q)| q.total_cmp(p).then(a.cmp(b)));
    if let Some(pair) = top.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Fault::new(top_key, "each token once", format!("{} twice", pair[0].0)));
    }
    Ok(Step { id: id(entry.get("id"), key)?, logprob: logprob(entry, key)?, top })
}
