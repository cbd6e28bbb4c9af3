//! `plumb generate` and `plumb tokenize` on a tiny GGUF file; generated tokens against llama-server.
//!
//! `fixtures/make_gguf.py` made the file; `tiny-llama.json` holds what llama-server answered, with its build and
//! flags. The prompts take both orders of attention: row by row, and in tiles. The id of a byte is its value;
//! 256 is "th", 257 begins a text.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its fixture has to stop")]

use std::io::{Cursor, sink};
use std::path::{Path, PathBuf};

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
    let arguments = ["generate", model.to_str().unwrap(), "--json-lines", "--threads", threads];
    run(&arguments, lines(requests))
}

fn lines(requests: &[Value]) -> String {
    requests.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

/// The lines that a verb answers `input` with, and the exit status.
fn run(arguments: &[&str], input: impl AsRef<[u8]>) -> (Vec<Value>, u8) {
    let cli = Cli::parse_from(["plumb"].iter().chain(arguments));
    let mut output = Vec::new();
    let input = Box::new(Cursor::new(input.as_ref().to_vec()));
    let mut streams = Streams { input, output: &mut output, progress: &mut sink() };
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

/// The tiny model with a chat template, in `folder`.
///
/// The key goes in front of the others. It takes a multiple of the alignment, so that offsets stay true.
fn with_template(folder: &Path) -> PathBuf {
    const TEMPLATE: &str = "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}\
        {% if add_generation_prompt %}assistant:{% endif %}";
    let string = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let pair = |template: &str| {
        [string("tokenizer.chat_template"), 8u32.to_le_bytes().to_vec(), string(template)].concat()
    };
    let short = pair(TEMPLATE).len() + "{##}".len();
    let padding = " ".repeat(short.next_multiple_of(32) - short);
    let mut file = std::fs::read(fixture("tiny-llama.gguf")).unwrap();
    // Magic, version, number of tensors, number of keys.
    let keys = u64::from_le_bytes(file[16..24].try_into().unwrap());
    file.splice(16..24, (keys + 1).to_le_bytes());
    file.splice(24..24, pair(&format!("{TEMPLATE}{{#{padding}#}}")));
    let path = folder.join("chat.gguf");
    std::fs::write(&path, file).unwrap();
    path
}

const MESSAGES: &str =
    r#"[{"role": "system", "content": "be"}, {"role": "user", "content": "the"}]"#;
const RENDERED: &str = "system:be;user:the;assistant:";

#[test]
fn a_template_of_a_file_that_does_not_compile_is_named_with_file_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let model = with_template(folder.path());
    // As many bytes, so that the file stays whole.
    let mut file = std::fs::read(&model).unwrap();
    let at = file.windows(6).position(|bytes| bytes == b"{% for").unwrap();
    file[at..at + 6].copy_from_slice(b"{% if ");
    std::fs::write(&model, file).unwrap();
    let request = json!({"id": "chat", "messages": [{"role": "user", "content": "the"}]});
    for verb in ["generate", "tokenize"] {
        let arguments = [verb, model.to_str().unwrap(), "--json-lines"];
        let (answers, status) = run(&arguments, lines(std::slice::from_ref(&request)));
        let error = &answers[0]["error"];
        assert_eq!((error["code"].as_str(), status), (Some("chat_template"), 2));
        let message = error["message"].as_str().unwrap();
        let named =
            format!("{}: the chat template in key \"tokenizer.chat_template\"", model.display());
        assert!(message.contains(&named), "{message}");
    }
}

/// The ids of [`RENDERED`], by hand: bytes but for one "th", behind the token that begins a text.
fn rendered_ids() -> Vec<u32> {
    let (before, after) = RENDERED.split_once("th").unwrap();
    let bytes = |text: &str| text.bytes().map(u32::from).collect::<Vec<_>>();
    [vec![257], bytes(before), vec![256], bytes(after)].concat()
}

#[test]
fn messages_are_rendered_by_the_template() {
    let folder = tempfile::tempdir().unwrap();
    let model = with_template(folder.path());
    let messages: Value = serde_json::from_str(MESSAGES).unwrap();
    let requests = [
        json!({"id": "messages", "messages": messages, "max_tokens": 4, "ignore_eos": true}),
        json!({"id": "ids", "prompt_ids": rendered_ids(), "max_tokens": 4, "ignore_eos": true}),
    ];
    let arguments = ["generate", model.to_str().unwrap(), "--json-lines"];
    let (answers, status) = run(&arguments, lines(&requests));
    assert_eq!((answers.len(), status), (2, 0));
    assert_eq!(answers[0]["prompt_ids"], json!(rendered_ids()));
    assert_eq!(answers[0]["ids"], answers[1]["ids"]);
    assert_eq!(answers[0]["ids"].as_array().unwrap().len(), 4);
}

#[test]
fn forced_ids_are_taken_and_the_probabilities_stay_the_model_s() {
    let request = |id: &str, force: Value| json!({"id": id, "prompt_ids": [257, 72], "max_tokens": 6, "ignore_eos": true, "logprobs": 3, "force_ids": force});
    let (answers, status) = generate("1", &[request("greedy", Value::Null)]);
    assert_eq!(status, 0);
    let greedy = &answers[0];
    let own = greedy["ids"].clone();
    // The least likely of three, then what would have come.
    let mut other = own.clone();
    other[0] = greedy["steps"][0]["top"][2][0].clone();
    let (answers, status) =
        generate("1", &[request("same", own.clone()), request("other", other.clone())]);
    assert_eq!((answers.len(), status), (2, 0));
    assert_eq!(answers[0]["steps"], greedy["steps"]);
    assert_eq!(answers[1]["ids"], other);
    let (first, expected) = (&answers[1]["steps"][0], &greedy["steps"][0]["top"]);
    assert_eq!(&first["top"], expected);
    assert_eq!(first["logprob"], expected[2][1]);
    assert_ne!(answers[1]["steps"][1]["top"], greedy["steps"][1]["top"]);
}

/// Prompts of all lengths, endings of all kinds, forced and free, greedy and sampled.
fn varied_requests() -> Vec<Value> {
    (0..23_u32)
        .map(|i| {
            let prompt: Vec<u32> = (0..=(i * 13) % 90).map(|k| (k * 31 + i * 7) % 256).collect();
            let force = (i % 5 == 3).then(|| [65 + i, 66, 67]);
            json!({
                "id": i.to_string(), "prompt_ids": prompt, "max_tokens": (i * 5) % 17,
                "ignore_eos": i % 3 == 0, "logprobs": i % 4, "force_ids": force,
                "sampling": {"temperature": f64::from(i % 2), "seed": i},
            })
        })
        .collect()
}

#[test]
fn requests_computed_together_are_answered_as_if_alone() {
    let requests = varied_requests();
    let model = fixture("tiny-llama.gguf");
    let answers = |max_sequences: &str| {
        let model = model.to_str().unwrap();
        let arguments = ["generate", model, "--json-lines", "--max-sequences", max_sequences];
        let (answers, status) = run(&arguments, lines(&requests));
        assert_eq!((answers.len(), status), (requests.len(), 0));
        answers
    };
    let alone = answers("1");
    assert!(alone.iter().zip(&requests).all(|(answer, request)| answer["id"] == request["id"]));
    for max_sequences in ["2", "9", "64"] {
        assert_eq!(answers(max_sequences), alone, "{max_sequences}");
    }
}

#[test]
fn a_line_that_is_no_text_does_not_stop_the_others() {
    let good = |id: &str| json!({"id": id, "prompt_ids": [1, 2], "max_tokens": 2}).to_string();
    let input =
        [good("first").as_bytes(), b"\n{\"id\": \"\xff\"}\n", good("last").as_bytes()].concat();
    let model = fixture("tiny-llama.gguf");
    for verb in ["generate", "tokenize"] {
        let (answers, status) = run(&[verb, model.to_str().unwrap(), "--json-lines"], &input);
        assert_eq!((answers.len(), status), (3, 2));
        assert_eq!(answers[1]["id"], Value::Null);
        let message = answers[1]["error"]["message"].as_str().unwrap();
        assert!(message.contains("UTF-8") && message.contains("0xff"), "{message}");
    }
}

#[test]
fn a_line_that_is_no_request_does_not_stop_the_others() {
    let good = |id: &str| json!({"id": id, "prompt_ids": [1, 2], "max_tokens": 2});
    let input = format!("{}\n{{\"id\": \n\n[]\n{}\n", good("first"), good("last"));
    let model = fixture("tiny-llama.gguf");
    let arguments = ["generate", model.to_str().unwrap(), "--json-lines"];
    let (answers, status) = run(&arguments, &input);
    assert_eq!((answers.len(), status), (4, 2));
    assert_eq!(answers[0]["ids"], answers[3]["ids"]);
    assert_eq!(answers[3]["id"], "last");
    for refused in &answers[1..3] {
        assert_eq!(refused["id"], Value::Null);
        assert_eq!(refused["error"]["code"], "invalid_request");
    }
}

/// The id is the caller's alone: order tells answers apart where it does not.
#[test]
fn ids_are_repeated_as_they_are_and_answers_keep_the_order() {
    let model = fixture("tiny-llama.gguf");
    for (verb, key) in [("generate", "prompt_ids"), ("tokenize", "ids")] {
        let requests = ["", "twice", "twice", " "].map(|id| json!({"id": id, key: [97]}));
        let (answers, status) =
            run(&[verb, model.to_str().unwrap(), "--json-lines"], lines(&requests));
        let ids: Vec<_> = answers.iter().map(|answer| answer["id"].as_str().unwrap()).collect();
        assert_eq!((ids, status), (vec!["", "twice", "twice", " "], 0));
    }
}

#[test]
fn a_number_of_threads_that_makes_no_sense_is_wrong_usage() {
    let parse = |threads| Cli::try_parse_from(["plumb", "info", "--threads", threads]);
    assert!(parse("1024").is_ok());
    for (threads, reason) in
        [("0", "zero"), ("1025", "at most 1024"), ("99999", "at most 1024"), ("-1", ""), ("x", "")]
    {
        let error = parse(threads).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn tokenize_goes_both_ways_and_renders_conversations() {
    let folder = tempfile::tempdir().unwrap();
    let model = with_template(folder.path());
    let messages: Value = serde_json::from_str(MESSAGES).unwrap();
    let requests = [
        json!({"id": "plain", "text": "the a"}),
        json!({"id": "begun", "text": "the", "add_special": true}),
        json!({"id": "special", "text": "a</s>", "parse_special": true}),
        json!({"id": "back", "ids": [257, 256, 101, 258]}),
        json!({"id": "skipped", "ids": [257, 256, 101, 258], "skip_special": true}),
        json!({"id": "chat", "messages": messages}),
        json!({"id": "beyond", "ids": [259]}),
        json!({"id": "misplaced", "text": "a", "skip_special": true}),
    ];
    let arguments = ["tokenize", model.to_str().unwrap(), "--json-lines"];
    let (answers, status) = run(&arguments, lines(&requests));
    let expected = [
        json!({"id": "plain", "ids": [256, 101, 32, 97]}),
        json!({"id": "begun", "ids": [257, 256, 101]}),
        json!({"id": "special", "ids": [97, 258]}),
        json!({"id": "back", "text": "<s>the</s>"}),
        json!({"id": "skipped", "text": "the"}),
        json!({"id": "chat", "text": RENDERED, "ids": rendered_ids()}),
    ];
    assert_eq!(answers[..6], expected);
    assert_eq!(answers[6]["error"]["code"], "unknown_token");
    assert_eq!(answers[7]["error"]["code"], "invalid_request");
    assert_eq!((answers.len(), status), (8, 2));
}
