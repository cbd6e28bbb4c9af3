//! What is refused, and how.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{answer, get, post, receive, send, start};
use crate::served::{Options, Served};

fn expect_error(status: u16, body: &Value, expected: u16, what: &str) {
    assert_eq!(status, expected, "{what}: {body}");
    let error = &body["error"];
    assert!(!error["message"].as_str().unwrap().is_empty(), "{what}");
    assert!(error["type"].as_str().unwrap().ends_with("Error"), "{what}");
    assert_eq!(error["code"], expected, "{what}");
}

#[test]
fn a_body_that_is_no_request_is_refused_and_the_server_lives() {
    let served = Served::start(Options::default());
    let head = "POST /v1/completions HTTP/1.1\r\n";
    let bodies: [&[u8]; 10] = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\"x\"",
        b"{\"prompt\": \"a\",}",
        b"\xff\xfe",
        b"{} {}",
        b"{\"prompt\"}",
        b"[[[[[[[[",
    ];
    for body in bodies {
        let response = receive(send(served.address, head, body));
        expect_error(response.status, &response.json(), 400, &String::from_utf8_lossy(body));
    }
    let deep = [vec![b'['; 5000], vec![b']'; 5000]].concat();
    assert_eq!(receive(send(served.address, head, &deep)).status, 400);
    answer(served.address, "/v1/completions", &json!({"prompt": "a", "max_tokens": 1}));
}

#[test]
fn a_field_of_a_completion_that_makes_no_sense_is_named() {
    let served = Served::start(Options::default());
    let fields = [
        ("prompt", json!(null)),
        ("prompt", json!("")),
        ("prompt", json!([])),
        ("prompt", json!([[]])),
        ("prompt", json!([1, "a"])),
        ("prompt", json!([9999])),
        ("prompt", json!([-1])),
        ("prompt", json!({"a": 1})),
        ("max_tokens", json!("x")),
        ("max_tokens", json!(-1)),
        ("max_tokens", json!(1e9)),
        ("max_tokens", json!(100_000)),
        ("max_tokens", json!(0)),
        ("temperature", json!(-0.5)),
        ("temperature", json!("hot")),
        ("top_p", json!(0)),
        ("top_p", json!(1.5)),
        ("top_k", json!(-2)),
        ("min_p", json!(2)),
        ("presence_penalty", json!(3)),
        ("repetition_penalty", json!(0)),
        ("n", json!(0)),
        ("n", json!(1000)),
        ("stop", json!(["a", ""])),
        ("stop", json!(5)),
        ("logprobs", json!(6)),
        ("logprobs", json!(-1)),
        ("logit_bias", json!({"9999": 1})),
        ("logit_bias", json!({"x": 1})),
        ("min_tokens", json!(99)),
        ("stream_options", json!({"include_usage": true})),
        ("suffix", json!("x")),
        ("best_of", json!(3)),
        ("response_format", json!({"type": "json_object"})),
        ("priority", json!(1)),
        ("cache_salt", json!("")),
    ];
    let count = fields.len();
    for (field, value) in fields {
        let mut body = json!({"prompt": "a", "max_tokens": 1});
        body[field] = value.clone();
        let response = post(served.address, "/v1/completions", &body);
        expect_error(response.status, &response.json(), 400, &format!("{field} {value}"));
    }
    assert_eq!(count, 36);
}

#[test]
fn a_field_of_a_chat_that_makes_no_sense_is_named_and_an_unknown_one_passes() {
    let served = Served::start(Options::default());
    for (field, value) in [
        ("messages", json!([])),
        ("messages", json!("hello")),
        ("messages", json!([{"content": "x"}])),
        ("messages", json!([{"role": "user", "content": [{"type": "image_url"}]}])),
        ("tools", json!([{"type": "function"}])),
        ("top_logprobs", json!(2)),
        ("max_tokens", json!(0)),
    ] {
        let mut body = json!({"messages": [{"role": "user", "content": "x"}], "max_tokens": 1});
        body[field] = value.clone();
        let response = post(served.address, "/v1/chat/completions", &body);
        expect_error(response.status, &response.json(), 400, &format!("{field} {value}"));
    }
    // Unknown and inert fields change nothing, as in vLLM.
    let body = json!({"prompt": "a", "max_tokens": 1, "user": "me", "nonsense": [1]});
    answer(served.address, "/v1/completions", &body);
}

#[test]
fn paths_methods_models_and_sizes() {
    let served = Served::start(Options::default());
    let expect = |response: crate::client::Response, status: u16| {
        let body = response.json();
        expect_error(response.status, &body, status, "");
        body
    };
    expect(get(served.address, "/nowhere"), 404);
    expect(get(served.address, "/v1/completions"), 405);
    expect(get(served.address, "/v1/models/other"), 404);
    let body = json!({"model": "other", "prompt": "a"});
    let error = expect(post(served.address, "/v1/completions", &body), 404);
    assert_eq!(error["error"]["message"], "The model `other` does not exist.");
    assert_eq!(error["error"]["type"], "NotFoundError");
    let long = json!({"prompt": "a".repeat(200_000)});
    expect(post(served.address, "/v1/completions", &long), 413);
    answer(served.address, "/v1/completions", &json!({"prompt": "a", "max_tokens": 1}));
}

#[test]
fn a_key_is_asked_for_below_v1_alone() {
    let served = Served::start(Options { keys: vec!["secret".to_owned()], ..Options::default() });
    let ask = |key: &str| {
        let head = format!("GET /v1/models HTTP/1.1\r\n{key}");
        receive(send(served.address, &head, b"")).status
    };
    assert_eq!([ask(""), ask("authorization: Bearer wrong\r\n")], [401, 401]);
    assert_eq!(ask("authorization: Bearer secret\r\n"), 200);
    assert_eq!(get(served.address, "/health").status, 200);
}

/// A request that takes long enough to have others wait behind it.
fn long(stream: bool) -> Value {
    json!({"prompt": "a", "max_tokens": 500, "ignore_eos": true, "stream": stream, "logprobs": 5})
}

#[test]
fn more_than_may_wait_are_told_to_come_later() {
    let options = Options { max_sequences: 1, max_waiting: 1, ..Options::default() };
    let served = Served::start(options);
    let sockets: Vec<_> =
        (0..12).map(|_| start(served.address, "/v1/completions", &long(true))).collect();
    let statuses: Vec<u16> = sockets.into_iter().map(|socket| receive(socket).status).collect();
    assert!(statuses.contains(&200), "{statuses:?}");
    let refused = statuses.iter().filter(|&&status| status == 429).count();
    assert!(
        refused >= 1 && statuses.iter().all(|status| [200, 429].contains(status)),
        "{statuses:?}"
    );
}

#[test]
fn who_waits_too_long_is_told_before_anything_is_streamed() {
    let queue_timeout = Duration::ZERO;
    let served = Served::start(Options { max_sequences: 1, queue_timeout, ..Options::default() });
    let first = start(served.address, "/v1/completions", &long(true));
    let others: Vec<_> =
        (0..3).map(|_| start(served.address, "/v1/completions", &long(true))).collect();
    let mut statuses: Vec<u16> = others.into_iter().map(|other| receive(other).status).collect();
    statuses.push(receive(first).status);
    assert!(statuses.contains(&503) && statuses.contains(&200), "{statuses:?}");
}
