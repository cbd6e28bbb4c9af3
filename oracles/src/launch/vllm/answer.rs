//! Reading a completion of vLLM: a pure function that believes nothing.

use serde_json::Value;

use crate::launch::answer::{Fault, ids, logprob, ranked, shown, text};
use crate::verbs::{Completion, CompletionRequest, FinishReason, PrefillRequest, Step};

/// The one choice of an answer, as a completion that is not checked against the request yet but in its prompt.
pub(super) fn completion(answer: &Value, request: &CompletionRequest) -> Result<Completion, Fault> {
    let choices = answer.get("choices").and_then(Value::as_array).map(Vec::as_slice);
    let Some([choice]) = choices else {
        return Err(Fault::new("choices", "one", shown(answer.get("choices"))));
    };
    if ids(choice, "prompt_token_ids")? != request.prompt_ids {
        let found = shown(choice.get("prompt_token_ids"));
        return Err(Fault::new("prompt_token_ids", "those of the request", found));
    }
    let ids = ids(choice, "token_ids")?;
    let reason = choice.get("finish_reason");
    let finish_reason = match reason.and_then(Value::as_str) {
        Some("length") => FinishReason::Length,
        Some("stop") => FinishReason::Stop,
        _ => return Err(Fault::new("finish_reason", "length or stop", shown(reason))),
    };
    let counted = answer.pointer("/usage/completion_tokens");
    if counted.and_then(Value::as_u64) != Some(ids.len() as u64) {
        let expected = ids.len().to_string();
        return Err(Fault::new("usage.completion_tokens", expected, shown(counted)));
    }
    let steps = match choice.get("logprobs") {
        None | Some(Value::Null) => Vec::new(),
        Some(logprobs) => steps(logprobs, request)?,
    };
    Ok(Completion { ids, text: text(choice, "text")?, finish_reason, steps })
}

fn steps(logprobs: &Value, request: &CompletionRequest) -> Result<Vec<Step>, Fault> {
    let list = |key: &str| {
        let value = logprobs.get(key);
        let list = value.and_then(Value::as_array);
        list.ok_or_else(|| Fault::new(format!("logprobs.{key}"), "a list", shown(value)))
    };
    let (tokens, chosen, tops) = (list("tokens")?, list("token_logprobs")?, list("top_logprobs")?);
    if tokens.len() != chosen.len() || tokens.len() != tops.len() {
        let found = format!("{}, {} and {}", tokens.len(), chosen.len(), tops.len());
        return Err(Fault::new("logprobs", "lists of one length", found));
    }
    let entries = tokens.iter().zip(chosen).zip(tops).enumerate();
    entries
        .map(|(index, ((token, chosen), top))| {
            let key = format!("logprobs[{index}]");
            let id = token_id(token.as_str(), &key)?;
            let top = top
                .as_object()
                .ok_or_else(|| Fault::new(&key, "a map of log-probabilities", shown(Some(top))))?
                .iter()
                .map(|(token, value)| {
                    Ok((token_id(Some(token), &key)?, logprob(Some(value), &key)?))
                })
                .collect::<Result<Vec<_>, Fault>>()?;
            let logprob = Some(logprob(Some(chosen), &key)?);
            Ok(Step { id, logprob, top: window(top, id, request) })
        })
        .collect()
}

/// How many tokens of the prompt the server had in its cache.
pub(super) fn cached_tokens(answer: &Value) -> Result<u32, Fault> {
    let details = answer.pointer("/usage/prompt_tokens_details");
    // The server leaves the details out where nothing was kept.
    if details.is_none_or(Value::is_null) {
        return Ok(0);
    }
    let found = answer.pointer("/usage/prompt_tokens_details/cached_tokens");
    match found {
        None | Some(Value::Null) => Ok(0),
        Some(value) => {
            value.as_u64().and_then(|count| u32::try_from(count).ok()).ok_or_else(|| {
                Fault::new("usage.prompt_tokens_details.cached_tokens", "a count", shown(found))
            })
        }
    }
}

/// The rankings inside a prompt: at each position of the request the tokens that the server lists there. The one that
/// stands in the prompt is listed in addition where it is not among the most probable.
pub(super) fn prefilled(answer: &Value, request: &PrefillRequest) -> Result<Vec<Step>, Fault> {
    let key = "choices[0].prompt_logprobs";
    let value = answer.pointer("/choices/0/prompt_logprobs");
    let (start, expected) =
        (request.prompt_ids.len(), request.prompt_ids.len() + request.ids.len());
    let list = value.and_then(Value::as_array).filter(|list| list.len() == expected);
    let list = list.ok_or_else(|| Fault::new(key, format!("{expected} entries"), shown(value)))?;
    let step = |position: &usize| {
        let key = format!("{key}[{}]", start + position);
        let entry = list.get(start + position);
        let tokens = entry.and_then(Value::as_object);
        let tokens =
            tokens.ok_or_else(|| Fault::new(&key, "a map of log-probabilities", shown(entry)))?;
        let mut top = Vec::with_capacity(tokens.len());
        for (token, said) in tokens {
            let id = token.parse().map_err(|_| Fault::new(&key, "a token id", token.as_str()))?;
            top.push((id, logprob(said.get("logprob"), &key)?));
        }
        let mut top = ranked(top, &key)?;
        top.truncate(request.top_logprobs as usize);
        let (id, best) = *top.first().ok_or_else(|| Fault::new(&key, "a token", "none"))?;
        Ok(Step { id, logprob: Some(best), top })
    };
    request.positions.iter().map(step).collect()
}

/// `prompt_logprobs` of every token: nothing before the first of `positions` tokens, then a map of the whole vocabulary each.
pub(super) fn prompt_rows(
    answer: &Value,
    positions: usize,
    vocabulary: usize,
) -> Result<Vec<Vec<f32>>, Fault> {
    let value = answer.pointer("/choices/0/prompt_logprobs");
    let list = value.and_then(Value::as_array).filter(|list| list.len() == positions);
    let expected = format!("{positions} entries");
    let list = list.ok_or_else(|| Fault::new("prompt_logprobs", expected, shown(value)))?;
    let row = |(index, entry): (usize, &Value)| {
        let key = format!("prompt_logprobs[{index}]");
        let map = entry.as_object().filter(|map| map.len() == vocabulary);
        let expected = format!("a map of {vocabulary}");
        let map = map.ok_or_else(|| Fault::new(&key, expected, shown(Some(entry))))?;
        let value = |id: usize| {
            let value = map.get(&id.to_string()).and_then(|entry| entry.get("logprob"));
            logprob(value, &key)
        };
        (0..vocabulary).map(value).collect()
    };
    list.iter().enumerate().skip(1).map(row).collect()
}

/// The most probable ones alone: the chosen token is listed in addition where it is not among them.
fn window(mut top: Vec<(u32, f32)>, chosen: u32, request: &CompletionRequest) -> Vec<(u32, f32)> {
    let wanted = request.top_logprobs as usize;
    if top.len() == wanted + 1 {
        let worst = top.iter().map(|(_, logprob)| *logprob).min_by(f32::total_cmp);
        top.retain(|(id, logprob)| *id != chosen || Some(*logprob) != worst);
    }
    top
}

/// `token_id:7042`.
fn token_id(token: Option<&str>, key: &str) -> Result<u32, Fault> {
    let id = token.and_then(|token| token.strip_prefix("token_id:")?.parse().ok());
    id.ok_or_else(|| Fault::new(key, "token_id:N", token.unwrap_or("nothing")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::launch::answer;

    fn request() -> CompletionRequest {
        CompletionRequest {
            prompt_ids: vec![1, 2],
            max_tokens: 2,
            top_logprobs: 2,
            ignore_eos: false,
        }
    }

    /// An answer as vLLM 0.25.0 gives it, without what is not read.
    fn good() -> Value {
        json!({
            "choices": [{
                "text": "%", "finish_reason": "length", "token_ids": [37, 262],
                "prompt_token_ids": [1, 2],
                "logprobs": {
                    "tokens": ["token_id:37", "token_id:262"],
                    "token_logprobs": [-2.0, -2.5],
                    "top_logprobs": [
                        {"token_id:37": -2.0, "token_id:240": -2.75},
                        {"token_id:262": -2.5, "token_id:237": -2.5},
                    ],
                },
            }],
            "usage": {"prompt_tokens": 2, "completion_tokens": 2},
        })
    }

    fn read(answer: &Value) -> Result<Completion, Fault> {
        completion(answer, &request()).and_then(|read| answer::complete(read, &request(), 320))
    }

    #[test]
    fn a_good_answer_is_read() {
        let read = read(&good()).unwrap();
        assert_eq!(
            (read.ids.as_slice(), read.finish_reason),
            (&[37, 262][..], FinishReason::Length)
        );
        assert_eq!(read.steps[0].top, [(37, -2.0), (240, -2.75)]);
        // Equal log-probabilities: the lower id first, whatever was chosen.
        assert_eq!(read.steps[1].top, [(237, -2.5), (262, -2.5)]);
    }

    /// A whole ranking behind each token but the last, which is behind the one that is generated.
    #[test]
    fn rows_are_read_by_id_and_none_may_be_missing() {
        let row = json!({"1": {"logprob": -2.0}, "0": {"logprob": -0.5, "rank": 1}});
        let rows = |list: Value| json!({"choices": [{"prompt_logprobs": list}]});
        let read = prompt_rows(&rows(json!([null, row, row])), 3, 2).unwrap();
        assert_eq!(read, [[-0.5, -2.0], [-0.5, -2.0]]);
        let key = |answer: &Value, vocabulary| prompt_rows(answer, 3, vocabulary).unwrap_err().key;
        assert_eq!(key(&rows(json!([null, row])), 2), "prompt_logprobs");
        assert_eq!(key(&rows(json!([null, row, row])), 3), "prompt_logprobs[1]");
        let nan = json!({"0": {"logprob": null}, "1": {"logprob": -2.0}});
        assert_eq!(key(&rows(json!([null, row, nan])), 2), "prompt_logprobs[2]");
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        let cases = [
            ("/choices/0/token_ids", json!([37]), "usage.completion_tokens"),
            ("/choices/0/token_ids", json!([38, 262]), "steps[0]"),
            ("/choices/0/prompt_token_ids", json!([1]), "prompt_token_ids"),
            ("/choices/0/finish_reason", json!("abort"), "finish_reason"),
            ("/choices/0/logprobs", json!(null), "steps"),
            ("/choices/0/logprobs/tokens/0", json!("%"), "logprobs[0]"),
            ("/choices/0/logprobs/token_logprobs/0", json!(null), "logprobs[0]"),
            ("/choices/0/logprobs/token_logprobs/0", json!(-2.75), "steps[0]"),
            ("/choices/0/logprobs/top_logprobs/0", json!({"token_id:37": -2.0}), "steps[0]"),
            ("/choices/0/logprobs/top_logprobs", json!([]), "logprobs"),
            ("/usage/completion_tokens", json!(3), "usage.completion_tokens"),
        ];
        for (pointer, value, key) in cases {
            let mut answer = good();
            *answer.pointer_mut(pointer).unwrap() = value;
            assert_eq!(read(&answer).unwrap_err().key, key, "{pointer}");
        }
    }

    #[test]
    fn rankings_inside_a_prompt_are_read_at_the_positions_that_were_asked() {
        let entry = |pairs: &[(&str, f64)]| {
            let said = |(id, logprob): &(&str, f64)| {
                ((*id).to_owned(), json!({"logprob": logprob, "rank": 1, "decoded_token": "x"}))
            };
            Value::Object(pairs.iter().map(said).collect())
        };
        let mut answer = json!({"choices": [{"prompt_logprobs": [
            null,
            entry(&[("2", -0.5), ("3", -1.0)]),
            entry(&[("7", -0.25), ("8", -2.0), ("9", -5.0)]),
            entry(&[("5", -1.5), ("4", -1.5)]),
        ]}]});
        let request = PrefillRequest {
            prompt_ids: vec![1, 2],
            ids: vec![9, 5],
            positions: vec![0, 1],
            top_logprobs: 2,
        };
        let steps = prefilled(&answer, &request).unwrap();
        // The token of the prompt, listed in addition, is not among the two most probable.
        assert_eq!(steps[0].top, [(7, -0.25), (8, -2.0)]);
        assert_eq!((steps[1].id, steps[1].logprob), (4, Some(-1.5)));
        assert!(answer::prefilled(steps, &request, 320).is_ok());
        answer["choices"][0]["prompt_logprobs"][3] = Value::Null;
        assert_eq!(prefilled(&answer, &request).unwrap_err().key, "choices[0].prompt_logprobs[3]");
        answer["choices"][0]["prompt_logprobs"] = json!([null]);
        assert_eq!(prefilled(&answer, &request).unwrap_err().key, "choices[0].prompt_logprobs");
    }

    #[test]
    fn what_the_server_had_of_a_prompt_is_counted() {
        let usage = |details: Value| json!({"usage": {"prompt_tokens_details": details}});
        assert_eq!(cached_tokens(&usage(json!({"cached_tokens": 768}))), Ok(768));
        assert_eq!(cached_tokens(&usage(Value::Null)), Ok(0));
        assert_eq!(cached_tokens(&json!({})), Ok(0));
        assert!(cached_tokens(&usage(json!({"cached_tokens": -1}))).is_err());
    }

    #[test]
    fn a_chosen_token_beside_the_window_is_left_out_of_it() {
        let mut answer = good();
        // An end was forbidden: what was chosen is the third.
        answer["choices"][0]["token_ids"] = json!([9, 262]);
        answer["choices"][0]["logprobs"]["tokens"][0] = json!("token_id:9");
        answer["choices"][0]["logprobs"]["token_logprobs"][0] = json!(-3.0);
        answer["choices"][0]["logprobs"]["top_logprobs"][0]["token_id:9"] = json!(-3.0);
        let request = CompletionRequest { ignore_eos: true, ..request() };
        let read = completion(&answer, &request).unwrap();
        let read = answer::complete(read, &request, 320).unwrap();
        assert_eq!(read.steps[0].top, [(37, -2.0), (240, -2.75)]);
        assert_eq!(read.steps[0].logprob, Some(-3.0));
    }
}
