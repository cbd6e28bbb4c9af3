//! Log probabilities in the shapes of both interfaces.

use serde_json::{Map, Value, json};

use super::app::App;
use crate::generation::Step;

/// What vLLM tells where a token is impossible: JSON has no infinity.
const LEAST: f32 = -9999.0;

/// How tokens are named.
#[derive(Clone, Copy, Debug)]
pub(super) struct Naming<'a> {
    pub(super) app: &'a App,
    pub(super) by_id: bool,
}

impl Naming<'_> {
    /// A token's text, or `token_id:ID`.
    pub(super) fn name(self, id: u32) -> String {
        match self.app.find_tokenizer() {
            Some(tokenizer) if !self.by_id => {
                tokenizer.decode_generated(&[id], false).unwrap_or_default()
            }
            _ => format!("token_id:{id}"),
        }
    }
}

fn finite(logprob: f32) -> f32 {
    logprob.max(LEAST)
}

/// `logprobs` of a completion: `(id, what the model thought)` of each token, none for the first of a prompt. `offset` is the number
/// of characters before.
pub(super) fn completion(
    naming: Naming<'_>,
    tokens: &[(u32, Option<&Step>)],
    top: usize,
    mut offset: usize,
) -> Value {
    let (mut offsets, mut logprobs, mut names, mut tops) = (vec![], vec![], vec![], vec![]);
    for &(id, step) in tokens {
        let name = naming.name(id);
        offsets.push(json!(offset));
        offset += name.chars().count();
        logprobs.push(step.map_or(Value::Null, |step| json!(finite(step.logprob))));
        tops.push(step.map_or(Value::Null, |step| top_map(naming, step, top)));
        names.push(Value::String(name));
    }
    json!({"text_offset": offsets, "token_logprobs": logprobs, "tokens": names, "top_logprobs": tops})
}

/// The token itself, then the most likely ones: at most one more than were asked for, as OpenAI says.
fn top_map(naming: Naming<'_>, step: &Step, top: usize) -> Value {
    let own = [(step.id, step.logprob)];
    let mut map = Map::new();
    for (id, logprob) in own.into_iter().chain(step.top.iter().copied().take(top)) {
        map.entry(naming.name(id)).or_insert_with(|| json!(finite(logprob)));
    }
    Value::Object(map)
}

/// `logprobs` of a chat.
pub(super) fn chat(naming: Naming<'_>, steps: &[Step], top: usize) -> Value {
    let one = |id: u32, logprob: f32| {
        let name = naming.name(id);
        let bytes = name.as_bytes().to_vec();
        json!({"token": name, "logprob": finite(logprob), "bytes": bytes})
    };
    let content = steps.iter().map(|step| {
        let mut content = one(step.id, step.logprob);
        let tops = step.top.iter().take(top).map(|&(id, logprob)| one(id, logprob));
        content["top_logprobs"] = Value::Array(tops.collect());
        content
    });
    json!({"content": content.collect::<Vec<_>>()})
}

/// `prompt_logprobs`, as vLLM tells them: null for the first token, then a map of ids.
pub(super) fn prompt(naming: Naming<'_>, steps: &[Step]) -> Value {
    let maps = steps.iter().map(|step| {
        let mut map = Map::new();
        let own = [(step.id, step.logprob, step.rank)];
        let tops = step.top.iter().zip(1..).map(|(&(id, logprob), rank)| (id, logprob, rank));
        for (id, logprob, rank) in own.into_iter().chain(tops) {
            let told =
                json!({"logprob": finite(logprob), "rank": rank, "decoded_token": naming.name(id)});
            map.entry(id.to_string()).or_insert(told);
        }
        Value::Object(map)
    });
    Value::Array(std::iter::once(Value::Null).chain(maps).collect())
}
