//! tokenizer.json gives the ids of its GGUF twin, and tokenizer_config.json names the tokens with a role.

use std::path::Path;

use engine::tokenizer::{TokenKind, Tokenizer, TokenizerError};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::{Case, Fixture};

/// The expression that Qwen2's tokenizer.json carries.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The vocabulary of the byte-pair fixture as tokenizer.json, cut into words as Qwen2 does.
fn tokenizer_json(fixture: &Fixture) -> Value {
    let list = |key: &str| fixture.metadata[key].as_array().unwrap();
    let tokens = list("tokenizer.ggml.tokens");
    let kinds = list("tokenizer.ggml.token_type");
    let is_added = |id: usize| kinds[id] != json!(1);
    let vocabulary: serde_json::Map<String, Value> = tokens
        .iter()
        .enumerate()
        .filter(|(id, _)| !is_added(*id))
        .map(|(id, token)| (token.as_str().unwrap().to_owned(), json!(id)))
        .collect();
    let added: Vec<Value> = (0..tokens.len())
        .filter(|&id| is_added(id))
        .map(|id| {
            json!({"id": id, "content": tokens[id], "special": kinds[id] == json!(3), "single_word": false,
                   "lstrip": false, "rstrip": false, "normalized": false})
        })
        .collect();
    json!({
        "version": "1.0",
        "added_tokens": added,
        "normalizer": null,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": QWEN2}, "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false},
        ]},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": list("tokenizer.ggml.merges")},
    })
}

fn folder(tokenizer: &Value, config: &Value) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write =
        |name: &str, value: &Value| std::fs::write(folder.path().join(name), value.to_string());
    write("tokenizer.json", tokenizer).unwrap();
    write("tokenizer_config.json", config).unwrap();
    folder
}

fn load(folder: &Path) -> Result<Tokenizer, TokenizerError> {
    Tokenizer::from_tokenizer_json(&folder.join("tokenizer.json"))
}

#[test]
fn twins_give_the_same_ids_and_texts() {
    let fixture = Fixture::read("byte_pair");
    let folder = folder(&tokenizer_json(&fixture), &json!({}));
    let tokenizer = load(folder.path()).unwrap();
    let mut compared = 0;
    let groups =
        fixture.groups.iter().filter(|group| group.overrides["tokenizer.ggml.pre"] == "qwen2");
    for Case { text, add_special, parse_special, ids } in groups.flat_map(|group| &group.cases) {
        assert_eq!(&tokenizer.encode(text, *add_special, *parse_special).unwrap(), ids, "{text:?}");
        if *parse_special {
            assert_eq!(&tokenizer.decode(ids, false).unwrap(), text);
        }
        compared += 1;
    }
    assert_eq!(compared, 32);
}

#[test]
fn the_configuration_names_the_tokens_with_a_role() {
    let fixture = Fixture::read("byte_pair");
    let config =
        json!({"bos_token": "<|begin|>", "eos_token": {"content": "<|im_end|>", "special": true}});
    let folder = folder(&tokenizer_json(&fixture), &config);
    let tokenizer = load(folder.path()).unwrap();
    let eos = tokenizer.token_id("<|im_end|>").unwrap();
    assert_eq!(tokenizer.bos(), tokenizer.token_id("<|begin|>"));
    assert_eq!(tokenizer.eos(), Some(eos));
    assert!(tokenizer.is_end_of_generation(eos));
    assert_eq!(tokenizer.token_kind(eos).unwrap(), TokenKind::Control);
    assert_eq!(
        tokenizer.token_kind(tokenizer.token_id("<tag>").unwrap()).unwrap(),
        TokenKind::UserDefined
    );
    assert_eq!(tokenizer.decode(&[eos], true).unwrap(), "");
}

#[test]
fn a_role_for_an_unknown_token_is_refused() {
    let fixture = Fixture::read("byte_pair");
    let folder = folder(&tokenizer_json(&fixture), &json!({"eos_token": "<nowhere>"}));
    let error = load(folder.path()).unwrap_err();
    assert!(matches!(error, TokenizerError::UnknownToken { key: "eos_token", .. }), "{error}");
}
