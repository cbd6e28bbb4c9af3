//! Reading a server's answers: pure functions that believe nothing.

use serde_json::Value;

use super::super::answer::{Fault, greedy, id, ids, logprob, ranked, shown, text, whole};
use crate::verbs::{Completion, CompletionRequest, FinishReason, Step};

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
    let finish_reason = match answer.get("stop_type").and_then(Value::as_str) {
        Some("limit") => FinishReason::Length,
        Some("eos") => FinishReason::Stop,
        _ => return Err(Fault::new("stop_type", "limit or eos", shown(answer.get("stop_type")))),
    };
    whole(&ids, finish_reason, request)?;
    let steps = steps(answer, request, &ids, vocabulary)?;
    Ok(Completion { ids, text, finish_reason, steps })
}

/// How many tokens of the prompt were kept from an earlier request: none, unless that was `allowed`.
pub(super) fn cached_tokens(answer: &Value, allowed: bool) -> Result<u32, Fault> {
    let key = "/timings/cache_n";
    let found = answer.pointer(key);
    let count = found.and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok());
    count.filter(|count| allowed || *count == 0).ok_or_else(|| {
        let expected = if allowed { "a count of tokens" } else { "0" };
        Fault::new(key, expected, shown(found))
    })
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
    // The server leaves the key out when it has nothing to report.
    let list = match answer.get(key) {
        None => &[][..],
        Some(Value::Array(list)) => list,
        other => return Err(Fault::new(key, "a list", shown(other))),
    };
    let wanted = (request.top_logprobs as usize).min(vocabulary.unwrap_or(usize::MAX));
    let entries: Vec<Step> = list
        .iter()
        .enumerate()
        .map(|(index, entry)| step(entry, &format!("{key}[{index}]"), wanted))
        .collect::<Result<_, _>>()?;
    let reported: Vec<u32> = entries.iter().map(|entry| entry.id).collect();
    let places = places(ids, &reported).ok_or_else(|| {
        Fault::new(key, "entries for the ids of `tokens`, in their order", format!("{reported:?}"))
    })?;
    let mut steps: Vec<Step> =
        ids.iter().map(|id| Step { id: *id, logprob: None, top: Vec::new() }).collect();
    for (index, (place, entry)) in places.into_iter().zip(entries).enumerate() {
        greedy(&entry, request, &format!("{key}[{index}]"))?;
        if let Some(place) = place {
            steps[place] = entry;
        }
    }
    Ok(steps)
}

/// Where each reported token stands among the generated ones; `None` as a whole when it cannot be.
///
/// The server reports nothing for a token that ends inside a character, so the reported ids are a
/// subsequence. Each entry lies between its leftmost and its rightmost possible place: where the two
/// differ it is not known which token it belongs to, and it belongs to none.
fn places(ids: &[u32], reported: &[u32]) -> Option<Vec<Option<usize>>> {
    let mut leftmost = Vec::with_capacity(reported.len());
    let mut from = 0;
    for id in reported {
        let place = from + ids[from..].iter().position(|other| other == id)?;
        leftmost.push(place);
        from = place + 1;
    }
    let mut rightmost = Vec::with_capacity(reported.len());
    let mut to = ids.len();
    for id in reported.iter().rev() {
        to = ids[..to].iter().rposition(|other| other == id)?;
        rightmost.push(to);
    }
    rightmost.reverse();
    Some(leftmost.into_iter().zip(rightmost).map(|(l, r)| (l == r).then_some(l)).collect())
}

fn step(entry: &Value, key: &str, wanted: usize) -> Result<Step, Fault> {
    let top_key = format!("{key}.top_logprobs");
    let list = entry.get("top_logprobs").and_then(Value::as_array);
    let Some(list) = list.filter(|list| list.len() == wanted) else {
        let found = list.map_or("nothing".to_owned(), |list| list.len().to_string());
        return Err(Fault::new(top_key, format!("{wanted} entries"), found));
    };
    let top = list
        .iter()
        .map(|entry| Ok((id(entry.get("id"), &top_key)?, logprob(entry.get("logprob"), &top_key)?)))
        .collect::<Result<Vec<_>, Fault>>()?;
    // The server's order among equals is not defined; ours is.
    let top = ranked(top, &top_key)?;
    let logprob = logprob(entry.get("logprob"), key)?;
    Ok(Step { id: id(entry.get("id"), key)?, logprob: Some(logprob), top })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{cached_tokens, completion, places};
    use crate::verbs::{CompletionRequest, FinishReason};

    fn request() -> CompletionRequest {
        CompletionRequest {
            prompt_ids: vec![1, 2],
            max_tokens: 2,
            top_logprobs: 2,
            ignore_eos: false,
        }
    }

    /// An answer as llama-server gives it, without what is not read.
    fn good() -> Value {
        let entry = |id: u32, other: u32| {
            json!({"id": id, "logprob": -0.25, "top_logprobs": [
                {"id": id, "logprob": -0.25}, {"id": other, "logprob": -2.5}]})
        };
        json!({
            "content": " Paris.", "tokens": [7042, 30], "stop_type": "limit", "truncated": false,
            "tokens_evaluated": 2, "timings": {"cache_n": 0},
            "completion_probabilities": [entry(7042, 260), entry(30, 28)],
        })
    }

    #[test]
    fn a_good_answer_is_read() {
        let read = completion(&good(), &request(), Some(49152)).unwrap();
        assert_eq!(
            (read.ids.as_slice(), read.finish_reason),
            (&[7042, 30][..], FinishReason::Length)
        );
        assert_eq!(read.steps[1].top, [(30, -0.25), (28, -2.5)]);
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        let first = "/completion_probabilities/0";
        let cases = [
            ("/tokens".to_owned(), json!([7042]), "ids"),
            ("/tokens".to_owned(), json!([7042, -1]), "tokens"),
            ("/tokens".to_owned(), json!([7043, 30]), "completion_probabilities"),
            ("/content".to_owned(), json!(7), "content"),
            ("/stop_type".to_owned(), json!("word"), "stop_type"),
            ("/truncated".to_owned(), json!(true), "/truncated"),
            ("/tokens_evaluated".to_owned(), json!(3), "/tokens_evaluated"),
            // A NaN is null in JSON.
            (format!("{first}/logprob"), json!(null), "completion_probabilities[0]"),
            (format!("{first}/logprob"), json!(0.5), "completion_probabilities[0]"),
            // Not the most probable: not greedy.
            (format!("{first}/logprob"), json!(-2.5), "completion_probabilities[0]"),
            (
                format!("{first}/top_logprobs"),
                json!([]),
                "completion_probabilities[0].top_logprobs",
            ),
            (
                format!("{first}/top_logprobs/1/id"),
                json!(7042),
                "completion_probabilities[0].top_logprobs",
            ),
        ];
        for (pointer, value, key) in cases {
            let mut answer = good();
            *answer.pointer_mut(&pointer).unwrap() = value;
            assert_eq!(completion(&answer, &request(), None).unwrap_err().key, key, "{pointer}");
        }
    }

    #[test]
    fn what_was_kept_is_counted_where_it_may_be_and_refused_where_not() {
        let mut answer = good();
        assert_eq!(cached_tokens(&answer, false), Ok(0));
        answer["timings"]["cache_n"] = json!(1);
        assert_eq!(cached_tokens(&answer, true), Ok(1));
        assert_eq!(cached_tokens(&answer, false).unwrap_err().key, "/timings/cache_n");
        answer["timings"] = json!({});
        assert_eq!(cached_tokens(&answer, true).unwrap_err().key, "/timings/cache_n");
    }

    proptest! {
        /// No answer makes the reader panic: any text that is JSON, and a good one with any part
        /// replaced by anything.
        #[test]
        fn any_answer_is_read_or_refused(part in 0..8usize, text in "[\\[\\]{}0-9a-z\":,.e-]{0,40}") {
            const PARTS: [&str; 8] = ["", "/tokens", "/tokens/0", "/content", "/stop_type",
                "/completion_probabilities", "/completion_probabilities/0",
                "/completion_probabilities/0/top_logprobs/1"];
            let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
            let mut answer = good();
            *answer.pointer_mut(PARTS[part]).unwrap() = value;
            let _ = completion(&answer, &request(), Some(3));
        }
    }

    #[test]
    fn reported_tokens_find_their_places() {
        assert_eq!(places(&[1, 2, 3], &[1, 2, 3]), Some(vec![Some(0), Some(1), Some(2)]));
        // A character of three tokens, of which only the last is reported; then another one.
        assert_eq!(places(&[7, 8, 9, 7, 8, 9], &[9, 9]), Some(vec![Some(2), Some(5)]));
        // Either 8 may be the one that ends the character.
        assert_eq!(places(&[7, 8, 8, 1], &[8, 1]), Some(vec![None, Some(3)]));
        assert_eq!(places(&[1, 2], &[3]), None);
        assert_eq!(places(&[1, 2], &[2, 1]), None);
        assert_eq!(places(&[1], &[]), Some(vec![]));
    }
}
