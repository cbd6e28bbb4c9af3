//! The scan agrees with `serde_json` on everything that `serde_json` accepts, and is sure of what servers send.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::scan;
use crate::load::piece::{Finish, Piece, parse, parse_whole};
use crate::load::trace::Usage;

/// A piece with its text decoded and its ids as numbers.
fn decoded(piece: &Piece<'_>) -> (String, Option<Vec<u32>>, Option<Usage>, Option<Finish>) {
    let text = format!("\"{}\"", std::str::from_utf8(&piece.text).unwrap());
    let ids = piece.ids.as_ref().map(|ids| {
        serde_json::from_str(&format!("[{}]", std::str::from_utf8(ids).unwrap())).unwrap()
    });
    assert_eq!(piece.id_count(), ids.as_ref().map(|ids: &Vec<u32>| ids.len() as u32));
    (serde_json::from_str(&text).unwrap(), ids, piece.usage, piece.finish)
}

/// Where the scan is sure, it says what the whole parse says.
fn agrees(document: &str) -> bool {
    let Ok(whole) = parse_whole(document.as_bytes()) else { return true };
    scan(document.as_bytes())
        .is_none_or(|sure| whole.error.is_none() && decoded(&sure) == decoded(&whole))
}

/// Events as servers send them, copied from their streams, with what they carry.
#[test]
fn is_sure_of_what_servers_send() {
    let usage = |prompt_tokens, completion_tokens, cached_tokens| {
        Some(Usage { prompt_tokens, completion_tokens, cached_tokens })
    };
    let vllm = r#"{"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"m","choices":[{"index":0,"text":" a\"\\","#;
    for (event, text, ids, counts, finish) in [
        (format!(r#"{vllm}"logprobs":null,"finish_reason":null,"stop_reason":null,"token_ids":[5, 77],"prompt_token_ids":null}}],"usage":null}}"#),
         " a\"\\", Some(vec![5, 77]), None, None),
        (format!(r#"{vllm}"logprobs":{{"x":["]}}"]}},"finish_reason":"length"}}],"usage":{{"prompt_tokens":3,"total_tokens":5,"completion_tokens":2,"prompt_tokens_details":{{"cached_tokens":1}}}}}}"#),
         " a\"\\", None, usage(3, 2, Some(1)), Some(Finish::Length)),
        (r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}"#.to_owned(),
         "", None, None, None),
        (r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm","content":null},"finish_reason":null}]}"#.to_owned(),
         "hm", None, None, None),
        (r#"{"choices":[],"usage":{"prompt_tokens":12,"total_tokens":28,"completion_tokens":16,"prompt_tokens_details":null}}"#.to_owned(),
         "", None, usage(12, 16, None), None),
        (r#"{"index":0,"content":" x","tokens":[9],"stop":false,"id_slot":-1,"tokens_predicted":4,"tokens_evaluated":7}"#.to_owned(),
         " x", Some(vec![9]), usage(7, 4, None), None),
        (r#"{"content":"","tokens":[],"stop":true,"stop_type":"limit","tokens_predicted":8,"tokens_evaluated":7,"timings":{"predicted_ms":1.5e1},"truncated":false}"#.to_owned(),
         "", Some(vec![]), usage(7, 8, None), Some(Finish::Length)),
    ] {
        let sure = scan(event.as_bytes()).unwrap_or_else(|| panic!("unsure of {event}"));
        assert_eq!(decoded(&sure), (text.to_owned(), ids, counts, finish), "{event}");
        assert!(agrees(&event), "{event}");
    }
}

#[test]
fn leaves_errors_and_oddities_to_the_whole_parse() {
    for (event, message) in [
        (r#"{"error":{"message":"out of memory","code":500}}"#, "out of memory"),
        (r#"{"error":"plain"}"#, "plain"),
        (r#"{"error":{"code":1}}"#, r#"{"code":1}"#),
        (r#"{"object":"error","message":"too long"}"#, "too long"),
    ] {
        assert_eq!(scan(event.as_bytes()), None, "{event}");
        assert_eq!(parse(event.as_bytes()).unwrap().error.as_deref(), Some(message));
    }
    for odd in [
        r#"{"choices":[],"choices":[]}"#,
        r#"{"usage":{"prompt_tokens":1.0,"completion_tokens":2}}"#,
        r#"{"choices":[{"token_ids":[4294967296]}]}"#,
        r#"{"\u0063hoices":[]}"#,
        "[]",
        "{} x",
        "",
    ] {
        assert_eq!(scan(odd.as_bytes()), None, "{odd}");
    }
    assert!(parse(b"{\"choices\":[").is_err());
    assert!(parse(b"3").is_err());
}

/// Values that a server might send where one is expected, and where none is.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u32>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "[a-z\"\\\\\u{e9}\u{1f600}\n{}\\[\\]]{0,6}".prop_map(Value::from),
        prop::sample::select(vec!["length", "stop", "limit", "error", ""]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let key = prop::sample::select(vec![
            "choices",
            "text",
            "delta",
            "content",
            "reasoning",
            "token_ids",
            "finish_reason",
            "usage",
            "prompt_tokens",
            "completion_tokens",
            "prompt_tokens_details",
            "cached_tokens",
            "tokens",
            "stop",
            "stop_type",
            "tokens_predicted",
            "tokens_evaluated",
            "error",
            "object",
            "message",
            "other",
            "q\"uote",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..7).prop_map(|members| {
                Value::from(
                    members
                        .into_iter()
                        .map(|(k, v)| (k.to_owned(), v))
                        .collect::<serde_json::Map<_, _>>(),
                )
            }),
        ]
    })
}

/// A well-formed event with one member exchanged for anything.
fn event() -> impl Strategy<Value = Value> {
    let paths = prop::sample::select(vec![
        "/choices",
        "/choices/0",
        "/choices/0/text",
        "/choices/0/delta",
        "/choices/0/delta/content",
        "/choices/0/token_ids",
        "/choices/0/finish_reason",
        "/usage",
        "/usage/prompt_tokens",
        "/usage/completion_tokens",
        "/usage/prompt_tokens_details",
        "/usage/prompt_tokens_details/cached_tokens",
        "/id",
    ]);
    ("[a-z\"\\\\\u{e9}\n ]{0,8}", prop::collection::vec(any::<u32>(), 0..4), paths, prop::option::of(value())).prop_map(
        |(text, ids, path, other)| {
            let mut event = json!({
                "id": "x",
                "choices": [{"text": text, "delta": {"role": "a", "content": text}, "token_ids": ids, "finish_reason": "length"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 2}},
            });
            if let (Some(place), Some(other)) = (event.pointer_mut(path), other) {
                *place = other;
            }
            event
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn agrees_with_serde_json(value in value()) {
        prop_assert!(agrees(&value.to_string()), "{value}");
        prop_assert!(agrees(&serde_json::to_string_pretty(&value).unwrap()), "{value}");
    }

    #[test]
    fn agrees_on_events(event in event()) {
        prop_assert!(agrees(&event.to_string()), "{event}");
        prop_assert!(agrees(&serde_json::to_string_pretty(&event).unwrap()), "{event}");
    }

    /// Bytes exchanged, added or lost: whatever `serde_json` still accepts is read alike, and nothing panics.
    #[test]
    fn agrees_on_damaged_events(event in event(), at in any::<prop::sample::Index>(), byte in any::<u8>(), how in 0..3) {
        let mut bytes = event.to_string().into_bytes();
        let at = at.index(bytes.len());
        match how {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            _ => bytes.truncate(at),
        }
        let _ = parse(&bytes);
        if let Ok(text) = String::from_utf8(bytes) {
            prop_assert!(agrees(&text), "{text}");
        }
    }
}
