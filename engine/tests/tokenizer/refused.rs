//! Vocabularies that cannot be used are refused, with the key that is wrong.

use engine::checkpoint::Checkpoint;
use engine::tokenizer::{Tokenizer, TokenizerError, TokenizerFault};
use serde_json::{Value, json};

use crate::fixture::{Fixture, tokenizer};
use crate::gguf_file;

const TOKENS: &str = "tokenizer.ggml.tokens";

/// The error for a fixture whose keys were changed, without the name of the file, which it starts with.
fn refuse(name: &str, change: impl FnOnce(&mut serde_json::Map<String, Value>)) -> String {
    let mut fixture = Fixture::read(name);
    change(&mut fixture.metadata);
    let metadata: Vec<(String, Value)> = fixture.metadata.into_iter().collect();
    let file = gguf_file::write(&metadata);
    let checkpoint = Checkpoint::open(file.path()).unwrap();
    let tokenizer = Tokenizer::of_checkpoint(&checkpoint);
    let error = tokenizer.err().unwrap_or_else(|| panic!("{name} was accepted")).to_string();
    let rest = error.strip_prefix(&format!("{}: ", file.path().display()));
    rest.unwrap_or_else(|| panic!("the file is not named: {error}")).to_owned()
}

fn array<'m>(metadata: &'m mut serde_json::Map<String, Value>, key: &str) -> &'m mut Vec<Value> {
    metadata[key].as_array_mut().unwrap()
}

#[test]
fn a_missing_key_is_named() {
    // Without a model the file still promises a tokenizer, and does not merely have none.
    for key in ["tokenizer.ggml.model", TOKENS, "tokenizer.ggml.merges"] {
        let message = refuse("byte_pair", |metadata| drop(metadata.remove(key)));
        assert!(message.contains(&format!("{key:?} is missing")), "{message}");
    }
    let message =
        refuse("sentence_piece", |metadata| drop(metadata.remove("tokenizer.ggml.scores")));
    assert!(message.contains("\"tokenizer.ggml.scores\" is missing"), "{message}");
}

#[test]
fn an_unknown_model_is_named_with_the_known_ones() {
    let message = refuse("byte_pair", |metadata| {
        metadata.insert("tokenizer.ggml.model".to_owned(), json!("t5"));
    });
    insta::assert_snapshot!(message, @r#"tokenizer.ggml.model is "t5", which is not supported: gpt2, gemma4, llama, bert are"#);
}

#[test]
fn an_unknown_pre_tokenizer_is_named_with_the_known_ones() {
    let message = refuse("byte_pair", |metadata| {
        metadata.insert("tokenizer.ggml.pre".to_owned(), json!("qwen7"));
    });
    let start = r#"tokenizer.ggml.pre is "qwen7", which is not supported: default, gpt-2,"#;
    assert!(message.starts_with(start), "{message}");
    assert!(message.contains("smollm") && message.ends_with("are"), "{message}");
}

#[test]
fn arrays_of_another_length_are_named() {
    let message =
        refuse("byte_pair", |metadata| array(metadata, "tokenizer.ggml.token_type").truncate(7));
    assert!(message.starts_with("tokenizer.ggml.token_type has 7 elements, expected"), "{message}");
    let message = refuse("sentence_piece", |metadata| {
        array(metadata, "tokenizer.ggml.scores").push(json!(0.5));
    });
    assert!(message.starts_with("tokenizer.ggml.scores has"), "{message}");
}

#[test]
fn a_merge_of_an_unknown_token_is_named() {
    let message = refuse("byte_pair", |metadata| {
        array(metadata, "tokenizer.ggml.merges")[3] = json!("zzz\u{120} qqq");
    });
    insta::assert_snapshot!(message, @r#"tokenizer.ggml.merges[3] is "zzzĠ qqq", but the vocabulary has no token "zzzĠ""#);
    let message = refuse("byte_pair", |metadata| {
        array(metadata, "tokenizer.ggml.merges")[0] = json!("abc");
    });
    insta::assert_snapshot!(message, @r#"tokenizer.ggml.merges[0] is "abc", expected two parts separated by one space"#);
}

#[test]
fn the_same_token_twice_is_named() {
    let message = refuse("byte_pair", |metadata| array(metadata, TOKENS)[9] = json!("!"));
    assert!(
        message.starts_with(r#"tokenizer.ggml.tokens[33] is "!", which token 9 already is"#),
        "{message}"
    );
}

#[test]
fn a_special_token_out_of_range_is_named() {
    let message = refuse("byte_pair", |metadata| {
        metadata.insert("tokenizer.ggml.eos_token_id".to_owned(), json!(70_000));
    });
    assert!(
        message.starts_with("tokenizer.ggml.eos_token_id is 70000, but the vocabulary has"),
        "{message}"
    );
}

#[test]
fn a_byte_token_without_a_byte_is_named() {
    let message = refuse("sentence_piece", |metadata| array(metadata, TOKENS)[3] = json!("<0xZZ>"));
    insta::assert_snapshot!(message, @r#"tokenizer.ggml.tokens[3] is the byte token "<0xZZ>", expected the form "<0x0A>""#);
}

#[test]
fn a_score_that_is_no_number_is_named() {
    let message = refuse("sentence_piece", |metadata| {
        array(metadata, "tokenizer.ggml.scores")[5] = json!(1e300);
    });
    insta::assert_snapshot!(message, @"tokenizer.ggml.scores[5] is inf: a finite score is needed");
}

#[test]
fn a_byte_without_a_token_is_named_when_it_is_met() {
    let mut fixture = Fixture::read("sentence_piece");
    array(&mut fixture.metadata, TOKENS)[3 + 0xF0] = json!("<other>");
    array(&mut fixture.metadata, "tokenizer.ggml.token_type")[3 + 0xF0] = json!(1);
    let metadata: Vec<(String, Value)> = fixture.metadata.into_iter().collect();
    let tokenizer = tokenizer(&metadata).unwrap();
    assert!(tokenizer.encode("plain", false, false).is_ok());
    let error = tokenizer.encode("\u{1F999}", false, false).unwrap_err();
    assert!(matches!(error, TokenizerError::NoByteToken { byte: 0xF0 }), "{error}");
}

#[test]
fn an_id_without_a_token_is_refused() {
    let fixture = Fixture::read("byte_pair");
    let metadata: Vec<(String, Value)> = fixture.metadata.into_iter().collect();
    let tokenizer = tokenizer(&metadata).unwrap();
    let vocabulary = tokenizer.vocabulary_size();
    let error = tokenizer.decode(&[0, vocabulary as u32], false).unwrap_err();
    assert!(
        matches!(error, TokenizerError::TokenId { id, .. } if id as usize == vocabulary),
        "{error}"
    );
}

#[test]
fn a_malformed_tokenizer_json_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    let load = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Tokenizer::from_tokenizer_json(&path).unwrap_err()
    };
    assert!(matches!(load("{"), TokenizerError::Json { .. }));
    assert!(matches!(load("{}"), TokenizerError::TokenizerJson { .. }));
    assert!(matches!(
        load(r#"{"version":"1.0","model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}"#),
        TokenizerError::TokenizerJson { .. }
    ));
    let bare = r#"{"version":"1.0","model":{"type":"BPE","vocab":{"a":0},"merges":[]}}"#;
    let TokenizerError::File { path: named, fault } = load(bare) else { panic!("another error") };
    assert!(matches!(fault, TokenizerFault::Unsupported { key: "decoder", .. }), "{fault}");
    assert_eq!(named, path);
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(Tokenizer::from_tokenizer_json(&path), Err(TokenizerError::Io { .. })));
}
