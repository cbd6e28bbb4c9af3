//! `plumb generate --json-lines` on a tiny GGUF file, token by token against llama-server.
//!
//! `fixtures/make_gguf.py` made the file; `tiny-llama.json` holds what llama-server answered, with its build and
//! flags. The prompts take both orders of attention: row by row, and in tiles.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its fixture has to stop")]

use std::io::{Cursor, sink};
use std::path::PathBuf;

use clap::Parser;
use engine::cli::{BuildInfo, Cli, Streams};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Expected {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    prompt: String,
    prompt_tokens: usize,
    ids: Vec<u32>,
}

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The answers of `plumb generate --json-lines`, and the exit status.
fn generate(threads: &str, requests: &[Value]) -> (Vec<Value>, u8) {
    let model = fixture("tiny-llama.gguf");
    let model = model.to_str().unwrap();
    let cli = Cli::parse_from(["plumb", "generate", model, "--json-lines", "--threads", threads]);
    let lines: Vec<String> = requests.iter().map(Value::to_string).collect();
    let input = lines.join("\n");
    let mut output = Vec::new();
    let mut streams =
        Streams { input: &mut Cursor::new(input), output: &mut output, progress: &mut sink() };
    let build = BuildInfo { version: "0", commit: None, source_sha256: None };
    let status = cli.run(&build, &mut streams).map_or_else(|error| error.exit_status(), |()| 0);
    let lines = String::from_utf8(output).unwrap();
    (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), status)
}

#[test]
fn tokens_are_those_of_llama_server_whatever_the_threads() {
    let text = std::fs::read_to_string(fixture("tiny-llama.json")).unwrap();
    let Expected { cases } = serde_json::from_str(&text).unwrap();
    let request = |case: &Case| json!({"id": case.prompt, "prompt": case.prompt, "max_tokens": case.ids.len(), "ignore_eos": true});
    let requests: Vec<Value> = cases.iter().map(request).collect();
    let mut compared = 0;
    for threads in ["1", "3"] {
        let (answers, status) = generate(threads, &requests);
        assert_eq!(status, 0);
        for (answer, case) in answers.iter().zip(&cases) {
            assert_eq!(answer["prompt_ids"].as_array().unwrap().len(), case.prompt_tokens);
            assert_eq!(answer["ids"], json!(case.ids), "{}", case.prompt);
            compared += case.ids.len();
        }
    }
    assert_eq!(compared, 2 * 3 * 32);
}

#[test]
fn bad_requests_are_answered_and_the_others_too() {
    let requests = [
        json!({"id": "unknown-key", "prompt": "a", "max_token": 3}),
        json!({"id": "two-prompts", "prompt": "a", "prompt_ids": [1]}),
        json!({"id": "no-such-id", "prompt_ids": [9999]}),
        json!({"id": "too-long", "prompt": "a", "max_tokens": 100_000}),
        json!({"id": "good", "prompt_ids": [1, 2], "max_tokens": 1, "logprobs": 2}),
    ];
    let (answers, status) = generate("1", &requests);
    let codes: Vec<&str> =
        answers.iter().filter_map(|answer| answer["error"]["code"].as_str()).collect();
    assert_eq!(codes, ["invalid_request", "invalid_request", "unknown_token", "context_overflow"]);
    assert_eq!(answers.len(), 5);
    assert_eq!(answers[4]["steps"][0]["top"].as_array().unwrap().len(), 2);
    assert_eq!(status, 2);
}
