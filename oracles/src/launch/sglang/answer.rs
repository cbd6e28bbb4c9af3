//! Reading what SGLang's `/generate` answers: pure functions that believe nothing.

use serde_json::Value;

use crate::launch::answer::{Fault, id, ids, logprob, ranked, shown, text};
use crate::verbs::{Completion, CompletionRequest, FinishReason, PrefillRequest, Step};

/// A completion that is not checked against the request yet but in its prompt.
pub(super) fn completion(answer: &Value, request: &CompletionRequest) -> Result<Completion, Fault> {
    same_prompt(answer, &request.prompt_ids)?;
    let ids = ids(answer, "output_ids")?;
    let reason = answer.pointer("/meta_info/finish_reason/type");
    let finish_reason = match reason.and_then(Value::as_str) {
        Some("length") => FinishReason::Length,
        Some("stop") => FinishReason::Stop,
        _ => {
            return Err(Fault::new(
                "meta_info.finish_reason.type",
                "length or stop",
                shown(reason),
            ));
        }
    };
    let counted = count(answer, "completion_tokens")?;
    if counted as usize != ids.len() {
        let expected = ids.len().to_string();
        return Err(Fault::new("meta_info.completion_tokens", expected, counted.to_string()));
    }
    let steps = if request.top_logprobs == 0 { Vec::new() } else { steps(answer)? };
    Ok(Completion { ids, text: text(answer, "text")?, finish_reason, steps })
}

/// That the server computed the prompt that it was given.
fn same_prompt(answer: &Value, prompt: &[u32]) -> Result<(), Fault> {
    let key = "prompt_token_ids";
    if ids(answer, key)? == prompt {
        return Ok(());
    }
    Err(Fault::new(key, "those of the request", shown(answer.get(key))))
}

fn steps(answer: &Value) -> Result<Vec<Step>, Fault> {
    let (chosen, tops) = ("output_token_logprobs", "output_top_logprobs");
    let (chosen_list, top_lists) = (list(answer, chosen)?, list(answer, tops)?);
    if chosen_list.len() != top_lists.len() {
        let found = format!("{} and {}", chosen_list.len(), top_lists.len());
        return Err(Fault::new("meta_info", "log-probabilities of one length", found));
    }
    let step = |(index, (entry, top)): (usize, (&Value, &Value))| {
        let (id, logprob) = said(entry, &format!("meta_info.{chosen}[{index}]"))?;
        let key = format!("meta_info.{tops}[{index}]");
        let top = top.as_array().ok_or_else(|| Fault::new(&key, "a list", shown(Some(top))))?;
        let top = top.iter().map(|entry| said(entry, &key)).collect::<Result<Vec<_>, _>>()?;
        Ok(Step { id, logprob: Some(logprob), top })
    };
    chosen_list.iter().zip(top_lists).enumerate().map(step).collect()
}

/// `[LOGPROB, ID, TEXT]`, where the text is null unless it was asked for.
fn said(entry: &Value, key: &str) -> Result<(u32, f32), Fault> {
    match entry.as_array().map(Vec::as_slice) {
        Some([found, token, _]) => Ok((id(Some(token), key)?, logprob(Some(found), key)?)),
        _ => Err(Fault::new(key, "[LOGPROB, ID, TEXT]", shown(Some(entry)))),
    }
}

/// How many tokens of the prompt the server had in its cache.
pub(super) fn cached_tokens(answer: &Value) -> Result<u32, Fault> {
    count(answer, "cached_tokens")
}

/// The rankings inside the prompt `ids` behind its token `first` and each later one but the last, `window` tokens each.
///
/// They come as two flat lists and their shape; before them stand as many positions without one as `null_prefix` says:
/// what is before the first token that is ranked.
pub(super) fn prompt_rankings(
    answer: &Value,
    ids: &[u32],
    first: usize,
    window: usize,
) -> Result<Vec<Vec<(u32, f32)>>, Fault> {
    same_prompt(answer, ids)?;
    let rows = ids.len().saturating_sub(first + 1);
    let (shape, prefix) = ("input_top_logprobs_shape", "input_top_logprobs_null_prefix");
    let expected = serde_json::json!([rows, window]);
    let found = answer.get("meta_info").and_then(|meta| meta.get(shape));
    // Of no rows no width is known.
    if found != Some(&expected) && rows > 0 {
        return Err(Fault::new(format!("meta_info.{shape}"), expected.to_string(), shown(found)));
    }
    if count(answer, prefix)? != 1 {
        let found = answer.get("meta_info").and_then(|meta| meta.get(prefix));
        return Err(Fault::new(format!("meta_info.{prefix}"), "1", shown(found)));
    }
    let (values, tokens) = ("input_top_logprobs_val_flat", "input_top_logprobs_idx_flat");
    let (value_list, token_list) = (list(answer, values)?, list(answer, tokens)?);
    for (key, found) in [(values, value_list.len()), (tokens, token_list.len())] {
        if found != rows * window {
            let expected = format!("{} entries", rows * window);
            return Err(Fault::new(format!("meta_info.{key}"), expected, found.to_string()));
        }
    }
    let entry = |(value, token): (&Value, &Value)| {
        let token = id(Some(token), &format!("meta_info.{tokens}"))?;
        Ok((token, logprob(Some(value), &format!("meta_info.{values}"))?))
    };
    let entries =
        value_list.iter().zip(token_list).map(entry).collect::<Result<Vec<_>, Fault>>()?;
    let sorted = |row: &[(u32, f32)]| ranked(row.to_vec(), &format!("meta_info.{tokens}"));
    entries.chunks(window.max(1)).map(sorted).collect()
}

/// What is chosen at the positions of `request`, by the rankings behind its prompt and each token that follows it.
pub(super) fn prefilled(
    rows: &[Vec<(u32, f32)>],
    request: &PrefillRequest,
) -> Result<Vec<Step>, Fault> {
    let step = |position: &usize| {
        let key = format!("ranking[{position}]");
        let row = rows.get(*position).filter(|row| !row.is_empty());
        let row = row.ok_or_else(|| Fault::new(key, "a ranking", "none"))?;
        let (id, best) = row[0];
        let wanted = (request.top_logprobs as usize).min(row.len());
        Ok(Step { id, logprob: Some(best), top: row[..wanted].to_vec() })
    };
    request.positions.iter().map(step).collect()
}

/// Whole rankings as log-probabilities in the order of the ids.
pub(super) fn by_id(rows: &[Vec<(u32, f32)>], vocabulary: usize) -> Result<Vec<Vec<f32>>, Fault> {
    let row = |(index, row): (usize, &Vec<(u32, f32)>)| {
        let mut by_id = row.clone();
        by_id.sort_unstable_by_key(|(id, _)| *id);
        let whole = by_id.iter().map(|(id, _)| *id as usize).eq(0..vocabulary);
        if !whole {
            let expected = format!("each of {vocabulary} tokens");
            return Err(Fault::new(format!("ranking[{index}]"), expected, row.len().to_string()));
        }
        Ok(by_id.into_iter().map(|(_, logprob)| logprob).collect())
    };
    rows.iter().enumerate().map(row).collect()
}

/// The list at `meta_info.KEY`.
fn list<'a>(answer: &'a Value, key: &str) -> Result<&'a Vec<Value>, Fault> {
    let found = answer.get("meta_info").and_then(|meta| meta.get(key));
    let list = found.and_then(Value::as_array);
    list.ok_or_else(|| Fault::new(format!("meta_info.{key}"), "a list", shown(found)))
}

/// The count at `meta_info.KEY`.
fn count(answer: &Value, key: &str) -> Result<u32, Fault> {
    let found = answer.get("meta_info").and_then(|meta| meta.get(key));
    let count = found.and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok());
    count.ok_or_else(|| Fault::new(format!("meta_info.{key}"), "a count", shown(found)))
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

    /// An answer in the shape that SGLang 0.5.17 gives it, without what is not read.
    fn good() -> Value {
        json!({
            "text": "%", "output_ids": [37, 262], "prompt_token_ids": [1, 2],
            "meta_info": {
                "finish_reason": {"type": "length", "length": 2},
                "prompt_tokens": 2, "completion_tokens": 2, "cached_tokens": 0,
                "output_token_logprobs": [[-2.0, 37, null], [-2.5, 262, null]],
                "output_top_logprobs": [
                    [[-2.0, 37, null], [-2.75, 240, null]],
                    [[-2.5, 262, null], [-2.5, 237, null]],
                ],
            },
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

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        let meta = |key: &str| format!("/meta_info/{key}");
        let cases = [
            ("/output_ids".to_owned(), json!([37]), "meta_info.completion_tokens"),
            ("/output_ids".to_owned(), json!([38, 262]), "steps[0]"),
            ("/prompt_token_ids".to_owned(), json!([1]), "prompt_token_ids"),
            ("/text".to_owned(), json!(null), "text"),
            (meta("finish_reason/type"), json!("abort"), "meta_info.finish_reason.type"),
            (meta("completion_tokens"), json!(3), "meta_info.completion_tokens"),
            (meta("output_top_logprobs"), json!(null), "meta_info.output_top_logprobs"),
            (meta("output_top_logprobs"), json!([]), "meta_info"),
            (
                meta("output_token_logprobs/0"),
                json!([null, 37, null]),
                "meta_info.output_token_logprobs[0]",
            ),
            (meta("output_token_logprobs/0/0"), json!(-2.75), "steps[0]"),
            (
                meta("output_top_logprobs/0/0"),
                json!([-2.0, "37", null]),
                "meta_info.output_top_logprobs[0]",
            ),
            (meta("output_top_logprobs/0/0"), json!([-2.0]), "meta_info.output_top_logprobs[0]"),
            (meta("output_top_logprobs/0"), json!([[-2.0, 37, null]]), "steps[0]"),
        ];
        for (pointer, value, key) in cases {
            let mut answer = good();
            *answer.pointer_mut(&pointer).unwrap() = value;
            assert_eq!(read(&answer).unwrap_err().key, key, "{pointer}");
        }
        // Stopped, and shorter than it might have been.
        let mut answer = good();
        answer["meta_info"]["finish_reason"] = json!({"type": "stop", "matched": 262});
        assert_eq!(read(&answer).unwrap().finish_reason, FinishReason::Stop);
    }

    #[test]
    fn what_the_server_had_of_a_prompt_is_counted() {
        assert_eq!(cached_tokens(&good()), Ok(0));
        assert_eq!(cached_tokens(&json!({"meta_info": {"cached_tokens": 768}})), Ok(768));
        assert!(cached_tokens(&json!({})).is_err());
    }

    /// Of the prompt 1 2 9 5 from its second token on: what is ranked behind 2 and behind 9.
    fn prompt() -> Value {
        json!({"prompt_token_ids": [1, 2, 9, 5], "meta_info": {
            "input_top_logprobs_shape": [2, 2],
            "input_top_logprobs_null_prefix": 1,
            "input_top_logprobs_val_flat": [-0.25, -2.0, -1.5, -1.5],
            "input_top_logprobs_idx_flat": [7, 8, 5, 4],
        }})
    }

    #[test]
    fn rankings_inside_a_prompt_are_read_at_the_positions_that_were_asked() {
        let rows = prompt_rankings(&prompt(), &[1, 2, 9, 5], 1, 2).unwrap();
        let mut request = PrefillRequest {
            prompt_ids: vec![1, 2],
            ids: vec![9, 5],
            positions: vec![1, 0],
            top_logprobs: 2,
        };
        let steps = prefilled(&rows, &request).unwrap();
        // Of two equals the lower id.
        assert_eq!((steps[0].id, steps[0].logprob), (4, Some(-1.5)));
        assert_eq!(steps[1].top, [(7, -0.25), (8, -2.0)]);
        assert!(answer::prefilled(steps, &request, 320).is_ok());
        request.positions = vec![2];
        assert_eq!(prefilled(&rows, &request).unwrap_err().key, "ranking[2]");
    }

    #[test]
    fn rankings_of_another_shape_are_refused_by_their_key() {
        let cases = [
            ("input_top_logprobs_shape", json!([3, 2])),
            ("input_top_logprobs_shape", json!(null)),
            ("input_top_logprobs_null_prefix", json!(0)),
            ("input_top_logprobs_val_flat", json!([-0.25])),
            ("input_top_logprobs_val_flat", json!([-0.25, null, -1.5, -1.5])),
            ("input_top_logprobs_idx_flat", json!([7, 7, 5, 4])),
        ];
        for (key, value) in cases {
            let mut answer = prompt();
            answer["meta_info"][key] = value;
            let fault = prompt_rankings(&answer, &[1, 2, 9, 5], 1, 2).unwrap_err();
            assert_eq!(fault.key, format!("meta_info.{key}"));
        }
        let fault = prompt_rankings(&prompt(), &[1, 2, 9, 6], 1, 2).unwrap_err();
        assert_eq!(fault.key, "prompt_token_ids");
    }

    #[test]
    fn whole_rankings_are_read_by_id_and_none_may_be_missing() {
        let rows = [vec![(1, -0.25), (0, -2.0)], vec![(0, -0.5), (1, -1.0)]];
        assert_eq!(by_id(&rows, 2).unwrap(), [[-2.0, -0.25], [-0.5, -1.0]]);
        assert_eq!(by_id(&rows, 3).unwrap_err().key, "ranking[0]");
        assert_eq!(by_id(&[vec![(0, -0.5), (2, -1.0)]], 2).unwrap_err().key, "ranking[0]");
    }
}
