//! What is answered.

use std::sync::Arc;

use engine::checkpoint::Checkpoint;
use engine::generation::{EndIds, Generation};
use engine::model::Model;
use engine::numerics::Profile;
use engine::tokenizer::Tokenizer;
use kernels::Pool;
use serde_json::{Value, json};

use crate::client::{answer, get, metric, post};
use crate::served::{CONTEXT, Options, Served, fixture};

/// The greedy ids of a prompt, and their text, without a server.
fn greedy(prompt_ids: &[u32], max_tokens: usize) -> (Vec<u32>, String) {
    let checkpoint = Checkpoint::open(&fixture()).unwrap();
    let pool = Arc::new(Pool::new(1).unwrap());
    let model = Model::load(&checkpoint, Profile::LlamaCppCpu, pool).unwrap();
    let mut runner = model.runner(CONTEXT).unwrap();
    let mut sequence = runner.sequence();
    let prompt_ids = prompt_ids.to_vec();
    let request = Generation { prompt_ids, max_tokens, ignore_eos: true, ..Generation::default() };
    let ends = EndIds::default();
    let generated = request.run(&mut runner, &mut sequence, &ends, &mut |_| true).unwrap();
    let tokenizer = Tokenizer::of_checkpoint(&checkpoint).unwrap().unwrap();
    let text = tokenizer.decode_generated(&generated.ids, true).unwrap();
    (generated.ids, text)
}

/// "the a": the token that begins a text, "th", and bytes.
const PROMPT: &str = "the a";
const PROMPT_IDS: [u32; 5] = [257, 256, 101, 32, 97];

fn request(more: impl std::borrow::Borrow<Value>) -> Value {
    let mut request = json!({
        "model": "tiny", "prompt": PROMPT, "max_tokens": 12, "temperature": 0,
        "ignore_eos": true, "return_token_ids": true,
    });
    request.as_object_mut().unwrap().extend(more.borrow().as_object().unwrap().clone());
    request
}

#[test]
fn a_completion_is_what_the_model_generates_whole_and_streamed() {
    let served = Served::start(Options::default());
    let (ids, text) = greedy(&PROMPT_IDS, 12);
    let whole = answer(served.address, "/v1/completions", &request(json!({})));
    let choice = &whole["choices"][0];
    assert_eq!((&choice["token_ids"], &choice["text"]), (&json!(ids), &json!(text)));
    assert_eq!(choice["prompt_token_ids"], json!(PROMPT_IDS));
    assert_eq!(
        (&choice["finish_reason"], &choice["stop_reason"]),
        (&json!("length"), &Value::Null)
    );
    let usage = json!({"prompt_tokens": 5, "total_tokens": 17, "completion_tokens": 12, "prompt_tokens_details": null});
    assert_eq!(whole["usage"], usage);
    assert_eq!((&whole["object"], &whole["model"]), (&json!("text_completion"), &json!("tiny")));
    assert!(whole["id"].as_str().unwrap().starts_with("cmpl-"));

    let by_ids = request(json!({"prompt": PROMPT_IDS}));
    assert_eq!(answer(served.address, "/v1/completions", &by_ids)["choices"][0], *choice);

    let options = json!({"include_usage": true, "continuous_usage_stats": true});
    let streamed = request(json!({"stream": true, "stream_options": options}));
    let mut events = post(served.address, "/v1/completions", &streamed).events();
    let last = events.pop().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["completion_tokens"], 12);
    assert_eq!(events.len(), 12, "an event a token");
    let joined: String = events.iter().map(|e| e["choices"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(joined, text);
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["choices"][0]["token_ids"], json!([ids[index]]));
        let prompt = if index == 0 { json!(PROMPT_IDS) } else { Value::Null };
        assert_eq!(event["choices"][0]["prompt_token_ids"], prompt);
        assert_eq!(event["usage"]["completion_tokens"], index + 1);
        let reason = if index == 11 { json!("length") } else { Value::Null };
        assert_eq!(event["choices"][0]["finish_reason"], reason);
        assert_eq!(event["id"], events[0]["id"]);
    }
}

#[test]
fn choices_and_prompts_have_their_places_and_seeds() {
    let served = Served::start(Options::default());
    let sampled = |more| {
        let mut body = request(json!({"temperature": 1.5, "seed": 11}));
        body.as_object_mut().unwrap().extend(Value::as_object(&more).unwrap().clone());
        answer(served.address, "/v1/completions", &body)["choices"].clone()
    };
    let three = sampled(json!({"n": 3, "prompt": [PROMPT, "b"]}));
    assert_eq!(three.as_array().unwrap().len(), 6);
    for choice in 0..3 {
        assert_eq!(three[choice]["index"], choice);
        let single = sampled(json!({"seed": 11 + choice}));
        assert_eq!(single[0]["token_ids"], three[choice]["token_ids"]);
        assert_eq!(three[3 + choice]["prompt_token_ids"], json!([257, 98]));
    }
    assert_ne!(three[0]["token_ids"], three[1]["token_ids"]);
}

#[test]
fn stop_strings_ids_and_lengths_end_an_answer() {
    let served = Served::start(Options::default());
    let (ids, text) = greedy(&PROMPT_IDS, 12);
    let choice =
        |more| answer(served.address, "/v1/completions", &request(more))["choices"][0].clone();
    // A character from the middle that has not been there before.
    let (at, stop) = text
        .char_indices()
        .skip(3)
        .find(|&(at, c)| c != '\u{fffd}' && !text[..at].contains(c))
        .unwrap();
    let stopped = choice(json!({"stop": [stop.to_string()]}));
    assert_eq!(stopped["text"], json!(&text[..at]));
    assert_eq!(
        (&stopped["finish_reason"], &stopped["stop_reason"]),
        (&json!("stop"), &json!(stop.to_string()))
    );
    let included = choice(json!({"stop": stop.to_string(), "include_stop_str_in_output": true}));
    assert_eq!(included["text"], json!(&text[..at + stop.len_utf8()]));

    let fourth = ids[3];
    let first = ids.iter().position(|&id| id == fourth).unwrap();
    let by_id = choice(json!({"stop_token_ids": [fourth]}));
    assert_eq!(by_id["token_ids"], json!(ids[..=first]));
    assert_eq!((&by_id["finish_reason"], &by_id["stop_reason"]), (&json!("stop"), &json!(fourth)));
    let later = choice(json!({"stop_token_ids": [fourth], "min_tokens": 8}));
    assert!(later["token_ids"].as_array().unwrap().len() > 8);
    assert!(!later["token_ids"].as_array().unwrap()[..8].contains(&json!(fourth)));

    let biased = choice(json!({"logit_bias": {"65": 100}}));
    assert_eq!(
        (&biased["text"], &biased["token_ids"]),
        (&json!("A".repeat(12)), &json!(vec![65; 12]))
    );
    // The model's own end, by force: it has no text and no stop reason.
    let ended = choice(json!({"logit_bias": {"258": 100}, "ignore_eos": false}));
    let expected = (&json!(""), &json!([258]), &json!("stop"), &Value::Null);
    let found =
        (&ended["text"], &ended["token_ids"], &ended["finish_reason"], &ended["stop_reason"]);
    assert_eq!(found, expected);
}

#[test]
fn log_probabilities_have_the_shapes_of_openai() {
    let served = Served::start(Options::default());
    let body =
        request(json!({"echo": true, "logprobs": 2, "max_tokens": 2, "return_token_ids": false}));
    let whole = answer(served.address, "/v1/completions", &body);
    let choice = &whole["choices"][0];
    assert!(choice["text"].as_str().unwrap().starts_with(PROMPT));
    let logprobs = &choice["logprobs"];
    for key in ["tokens", "token_logprobs", "top_logprobs", "text_offset"] {
        assert_eq!(logprobs[key].as_array().unwrap().len(), 7, "{key}");
    }
    assert_eq!(
        (&logprobs["token_logprobs"][0], &logprobs["tokens"][1]),
        (&Value::Null, &json!("th"))
    );
    let top = logprobs["top_logprobs"][6].as_object().unwrap();
    assert!((2..=3).contains(&top.len()));
    let own = logprobs["token_logprobs"][6].as_f64().unwrap();
    assert!(own <= 0.0 && top.values().all(|other| other.as_f64().unwrap() <= own), "greedy");
    let mut streamed = body.clone();
    streamed["stream"] = json!(true);
    let events = post(served.address, "/v1/completions", &streamed).events();
    let joined = |key: &str| -> Vec<Value> {
        let parts = events.iter().map(|event| event["choices"][0]["logprobs"][key].clone());
        parts.flat_map(|part| part.as_array().unwrap().clone()).collect()
    };
    for key in ["tokens", "token_logprobs", "top_logprobs"] {
        assert_eq!(json!(joined(key)), logprobs[key], "{key}");
    }
    // Only the prompt.
    let body =
        request(json!({"echo": true, "max_tokens": 0, "logprobs": 1, "return_token_ids": false}));
    let only = answer(served.address, "/v1/completions", &body);
    assert_eq!(only["choices"][0]["text"], PROMPT);
    assert_eq!(only["choices"][0]["logprobs"]["tokens"].as_array().unwrap().len(), 5);
    assert_eq!(only["usage"]["completion_tokens"], 0);
}

#[test]
fn a_chat_is_rendered_answered_and_streamed() {
    let served = Served::start(Options::default());
    let messages = json!([
        {"role": "system", "content": "be"},
        {"role": "user", "content": [{"type": "text", "text": "the"}], "name": null},
    ]);
    let body = json!({
        "messages": messages, "max_completion_tokens": 5, "temperature": 0, "ignore_eos": true,
        "logprobs": true, "top_logprobs": 2, "return_token_ids": true,
    });
    let whole = answer(served.address, "/v1/chat/completions", &body);
    let rendered = json!({"prompt": "system:be;user:the;assistant:"});
    let ids = answer(served.address, "/tokenize", &rendered)["tokens"].clone();
    assert_eq!(whole["prompt_token_ids"], ids);
    let same = json!({"messages": messages});
    assert_eq!(answer(served.address, "/tokenize", &same)["tokens"], ids);
    let prompt: Vec<u32> = serde_json::from_value(ids).unwrap();
    let (expected, text) = greedy(&prompt, 5);
    let choice = &whole["choices"][0];
    assert_eq!(
        (&choice["token_ids"], &choice["message"]["content"]),
        (&json!(expected), &json!(text))
    );
    assert_eq!(choice["message"]["role"], "assistant");
    assert_eq!(choice["logprobs"]["content"][4]["top_logprobs"].as_array().unwrap().len(), 2);
    assert_eq!(whole["object"], "chat.completion");
    let mut streamed = body.clone();
    streamed["stream"] = json!(true);
    let events = post(served.address, "/v1/chat/completions", &streamed).events();
    assert_eq!(events[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    assert_eq!(events.len(), 6);
    let joined: String =
        events.iter().map(|e| e["choices"][0]["delta"]["content"].as_str().unwrap()).collect();
    assert_eq!(joined, text);
    assert_eq!(events[5]["choices"][0]["finish_reason"], "length");
    assert!(events.iter().all(|event| event["object"] == "chat.completion.chunk"));
}

#[test]
fn the_server_tells_of_itself() {
    let served = Served::start(Options::default());
    for path in ["/health", "/live"] {
        assert_eq!(get(served.address, path).status, 200);
    }
    let models = get(served.address, "/v1/models").json();
    assert_eq!(models["data"][1]["id"], "also");
    assert_eq!(models["data"][0]["max_model_len"], CONTEXT);
    assert_eq!(get(served.address, "/v1/models/tiny").json()["id"], "tiny");
    assert_eq!(get(served.address, "/version").json(), json!({"version": "0"}));
    assert_eq!(get(served.address, "/server_info").json()["model"], "here");
    let back = answer(served.address, "/detokenize", &json!({"tokens": PROMPT_IDS}));
    assert_eq!(back["prompt"], format!("<s>{PROMPT}"));
    answer(served.address, "/v1/completions", &request(json!({})));
    assert!(metric(served.address, "vllm:generation_tokens_total") >= 12.0);
    let text = get(served.address, "/metrics").body;
    for name in [
        "vllm:time_to_first_token_seconds_bucket",
        "vllm:inter_token_latency_seconds_sum",
        "vllm:request_success_total",
    ] {
        assert!(text.contains(name), "{name}");
    }
}

/// Nothing is found: this context holds no whole piece of llama.cpp's 512 rows besides the row that must run.
#[test]
fn the_prefix_cache_is_asked() {
    let served = Served::start(Options::default());
    for _ in 0..2 {
        answer(served.address, "/v1/completions", &request(json!({"cache_salt": "s"})));
    }
    let counts = ["queries", "hits"]
        .map(|name| metric(served.address, &format!("vllm:prefix_cache_{name}_total")) as u64);
    assert_eq!(counts, [2 * PROMPT_IDS.len() as u64, 0]);
}
