//! tokenizer.json gives the ids of its GGUF twin, and tokenizer_config.json names the tokens with a role.

use std::path::Path;

use engine::chat_template::ChatTemplate;
use engine::tokenizer::{TokenKind, Tokenizer, TokenizerError, TokenizerFault};
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
    let TokenizerError::File { path, fault: TokenizerFault::UnknownToken { key, .. } } = &error
    else {
        panic!("{error}")
    };
    assert_eq!((path, *key), (&folder.path().join("tokenizer_config.json"), "eos_token"));
}

#[test]
fn a_configuration_of_the_wrong_form_is_refused() {
    let json = tokenizer_json(&Fixture::read("byte_pair"));
    let refuse = |config: Value| {
        let folder = folder(&json, &config);
        let error = load(folder.path()).unwrap_err().to_string();
        error.replace(folder.path().to_str().unwrap(), "FOLDER")
    };
    insta::assert_snapshot!(refuse(json!({"eos_token": 5})), @r#"FOLDER/tokenizer_config.json: eos_token is 5; a token's text, or an object with its "content", is needed"#);
    insta::assert_snapshot!(refuse(json!({"bos_token": {"special": true}})), @r#"FOLDER/tokenizer_config.json: bos_token is {"special":true}; a token's text, or an object with its "content", is needed"#);
    insta::assert_snapshot!(refuse(json!(["eos_token"])), @"FOLDER/tokenizer_config.json: invalid type: sequence, expected a map at line 1 column 0");
}

#[test]
fn an_unreadable_configuration_is_not_an_absent_one() {
    let folder = folder(&tokenizer_json(&Fixture::read("byte_pair")), &json!({}));
    let config = folder.path().join("tokenizer_config.json");
    std::fs::remove_file(&config).unwrap();
    assert!(load(folder.path()).is_ok());
    std::fs::create_dir(&config).unwrap();
    let error = load(folder.path()).unwrap_err();
    assert!(matches!(&error, TokenizerError::Io { path, .. } if *path == config), "{error}");
}

#[test]
fn a_vocabulary_without_tokens_or_with_an_absurd_id_is_refused() {
    let mut json = tokenizer_json(&Fixture::read("byte_pair"));
    json["added_tokens"] = json!([]);
    let mut refuse = |vocabulary: Value| {
        json["model"]["vocab"] = vocabulary;
        json["model"]["merges"] = json!([]);
        let folder = folder(&json, &json!({}));
        let error = load(folder.path()).unwrap_err().to_string();
        error.replace(folder.path().to_str().unwrap(), "FOLDER")
    };
    insta::assert_snapshot!(refuse(json!({})), @"FOLDER/tokenizer.json: the vocabulary is empty: a vocabulary needs at least one token");
    insta::assert_snapshot!(refuse(json!({"a": 4_000_000_000_u32})), @"FOLDER/tokenizer.json: the vocabulary has the id 4000000000: at most 16777216 is supported");
}

#[test]
fn a_template_that_is_none_is_refused_and_one_that_does_not_compile_is_named() {
    let json = tokenizer_json(&Fixture::read("byte_pair"));
    let refuse = |config: Value, jinja: Option<&str>| {
        let folder = folder(&json, &config);
        if let Some(text) = jinja {
            std::fs::write(folder.path().join("chat_template.jinja"), text).unwrap();
        }
        let tokenizer = load(folder.path()).unwrap();
        let error = ChatTemplate::from_folder(folder.path(), &tokenizer).unwrap_err().to_string();
        error.replace(folder.path().to_str().unwrap(), "FOLDER")
    };
    insta::assert_snapshot!(refuse(json!({"chat_template": 5}), None), @r#"FOLDER/tokenizer_config.json: chat_template is 5; a template, or a list with one named "default", is needed"#);
    let list = json!({"chat_template": [{"name": "tools", "template": "x"}]});
    insta::assert_snapshot!(refuse(list, None), @r#"FOLDER/tokenizer_config.json: chat_template is [{"name":"tools","template":"x"}]; a template, or a list with one named "default", is needed"#);
    let broken = "one\n{% for message in %}";
    insta::assert_snapshot!(refuse(json!({"chat_template": broken}), None), @r#"FOLDER/tokenizer_config.json: the chat template in key "chat_template" does not compile: line 2: unexpected end of block"#);
    insta::assert_snapshot!(refuse(json!({}), Some(broken)), @"FOLDER/chat_template.jinja: the chat template does not compile: line 2: unexpected end of block");
}
