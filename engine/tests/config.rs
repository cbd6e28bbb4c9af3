//! Configurations that are refused, from both kinds of checkpoint; the messages are the snapshots.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its files has to stop")]

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use engine::checkpoint::Checkpoint;
use engine::config::{ConfigError, ModelConfig};
use engine::model::Model;
use engine::numerics::Profile;
use serde_json::{Value, json};

/// A GGUF metadata value of the three types that a configuration is made of.
#[derive(Clone, Copy)]
enum Kind {
    Size(u32),
    Number(f32),
    Text(&'static str),
}
use Kind::{Number, Size, Text};

const EPSILON: &str = "llama.attention.layer_norm_rms_epsilon";

/// The keys of a llama that is accepted.
const GGUF_KEYS: [(&str, Kind); 10] = [
    ("general.architecture", Text("llama")),
    ("llama.context_length", Size(128)),
    ("llama.embedding_length", Size(8)),
    ("llama.block_count", Size(1)),
    ("llama.feed_forward_length", Size(16)),
    ("llama.attention.head_count", Size(4)),
    ("llama.attention.head_count_kv", Size(2)),
    (EPSILON, Number(1e-5)),
    ("llama.rope.freq_base", Number(1e4)),
    ("llama.rope.dimension_count", Size(2)),
];

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

/// A GGUF file with those keys and an embedding of 3 rows of 8 values.
fn gguf(keys: &[(&str, Kind)]) -> Vec<u8> {
    let mut file = b"GGUF\x03\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
    file.extend((keys.len() as u64).to_le_bytes());
    for (key, value) in keys {
        let (id, bytes) = match value {
            Size(n) => (4u32, n.to_le_bytes().to_vec()),
            Number(x) => (6, x.to_le_bytes().to_vec()),
            Text(text) => (8, string(text)),
        };
        file.extend([string(key), id.to_le_bytes().to_vec(), bytes].concat());
    }
    file.extend(string("token_embd.weight"));
    file.extend(2u32.to_le_bytes());
    file.extend([8u64, 3].map(u64::to_le_bytes).concat());
    file.extend([0; 4 + 8]); // F32, at offset 0
    file.resize(file.len().next_multiple_of(32) + 8 * 3 * 4, 0);
    file
}

fn config_json() -> Value {
    json!({
        "model_type": "llama", "vocab_size": 3, "hidden_size": 8, "intermediate_size": 16,
        "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 1e4,
        "hidden_act": "silu", "tie_word_embeddings": true, "dtype": "float32",
    })
}

fn llama3(low: f64, high: f64, context: u32) -> Value {
    json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": low, "high_freq_factor": high,
           "original_max_position_embeddings": context})
}

fn read_gguf(folder: &Path, keys: &[(&str, Kind)]) -> Result<ModelConfig, ConfigError> {
    let path = folder.join("model.gguf");
    std::fs::write(&path, gguf(keys)).unwrap();
    ModelConfig::read(&Checkpoint::open(&path).unwrap())
}

fn read_folder(folder: &Path, config: &str) -> Result<ModelConfig, ConfigError> {
    let header = r#"{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[0; 4]].concat();
    std::fs::write(folder.join("model.safetensors"), file).unwrap();
    std::fs::write(folder.join("config.json"), config).unwrap();
    ModelConfig::read(&Checkpoint::open(folder).unwrap())
}

/// The case and the message, without the folder's name.
fn report(text: &mut String, folder: &Path, case: &str, read: Result<ModelConfig, ConfigError>) {
    let message = match read {
        Ok(_) => panic!("{case}: accepted"),
        Err(error) => error.to_string(),
    };
    let message = message.replace(folder.to_str().unwrap(), "FOLDER");
    writeln!(text, "{case}\n    {message}").unwrap();
}

#[test]
fn the_unchanged_configurations_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    for config in [
        read_gguf(folder.path(), &GGUF_KEYS).unwrap(),
        read_folder(folder.path(), &config_json().to_string()).unwrap(),
    ] {
        assert_eq!((config.vocabulary, config.hidden, config.head_dim), (3, 8, 2));
        assert_eq!((config.heads, config.key_value_heads, config.layers), (4, 2, 1));
        assert!(config.tied_head);
    }
}

#[test]
fn gguf_configurations_that_are_refused() {
    let cases: [(&str, &str, Option<Kind>); 22] = [
        ("missing key", "llama.embedding_length", None),
        ("no architecture", "general.architecture", None),
        ("unknown family", "general.architecture", Some(Text("mamba"))),
        ("unknown key", "llama.attention.sliding_window", Some(Size(64))),
        ("wrong type", "llama.block_count", Some(Text("two"))),
        ("unsupported scaling", "llama.rope.scaling.type", Some(Text("yarn"))),
        ("partial rotary embedding", "llama.rope.dimension_count", Some(Size(1))),
        ("values wider than keys", "llama.attention.value_length", Some(Size(4))),
        ("another vocabulary", "llama.vocab_size", Some(Size(4))),
        ("heads that do not divide", "llama.attention.head_count_kv", Some(Size(3))),
        ("no key-value heads", "llama.attention.head_count_kv", Some(Size(0))),
        ("no heads", "llama.attention.head_count", Some(Size(0))),
        ("heads wider than the model", "llama.attention.head_count", Some(Size(16))),
        ("odd heads", "llama.attention.key_length", Some(Size(3))),
        ("no context", "llama.context_length", Some(Size(0))),
        ("an epsilon that is no number", EPSILON, Some(Number(f32::NAN))),
        ("a base that is infinite", "llama.rope.freq_base", Some(Number(f32::INFINITY))),
        ("first token beyond the vocabulary", "tokenizer.ggml.bos_token_id", Some(Size(3))),
        ("last token beyond the vocabulary", "tokenizer.ggml.eos_token_id", Some(Size(u32::MAX))),
        ("turn's end beyond the vocabulary", "tokenizer.ggml.eot_token_id", Some(Size(3))),
        ("scaling without factor", "llama.rope.scaling.type", Some(Text("linear"))),
        ("no layers", "llama.block_count", Some(Size(0))),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for (case, key, value) in cases {
        let mut keys: Vec<_> = GGUF_KEYS.into_iter().filter(|(name, _)| *name != key).collect();
        keys.extend(value.map(|value| (key, value)));
        if case == "odd heads" || case.starts_with("heads wider") {
            keys.retain(|(name, _)| *name != "llama.rope.dimension_count");
        }
        report(&mut text, folder.path(), case, read_gguf(folder.path(), &keys));
    }
    for factor in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let mut keys = GGUF_KEYS.to_vec();
        keys.push(("llama.rope.scaling.type", Text("linear")));
        keys.push(("llama.rope.scaling.factor", Number(factor)));
        report(&mut text, folder.path(), "a factor", read_gguf(folder.path(), &keys));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn folders_whose_configuration_is_refused() {
    let cases = [
        ("missing key", "hidden_size", Value::Null),
        ("no family", "model_type", Value::Null),
        ("unknown family", "model_type", json!("mamba")),
        ("unknown key", "sliding_window", json!(64)),
        ("wrong type", "num_hidden_layers", json!("two")),
        ("negative number", "num_hidden_layers", json!(-1)),
        ("a width that wraps", "head_dim", json!((1_u64 << 62) + 2)),
        ("unsupported activation", "hidden_act", json!("gelu")),
        ("unsupported type", "dtype", json!("float16")),
        ("unsupported value", "mlp_bias", json!(true)),
        ("unsupported scaling", "rope_scaling", json!({"rope_type": "yarn", "factor": 2.0})),
        ("scaling without factor", "rope_scaling", json!({"rope_type": "linear"})),
        ("unknown key of scaling", "rope_scaling", json!({"rope_type": "default", "beta_fast": 1})),
        ("heads that do not divide", "num_key_value_heads", json!(3)),
        ("no heads", "num_attention_heads", json!(0)),
        ("no key-value heads", "num_key_value_heads", json!(0)),
        ("odd heads", "head_dim", json!(3)),
        ("heads wider than the model", "num_attention_heads", json!(16)),
        ("no layers", "num_hidden_layers", json!(0)),
        ("an epsilon of one", "rms_norm_eps", json!(1)),
        ("a base beyond a single", "rope_theta", json!(1e300)),
        ("a factor of zero", "rope_scaling", json!({"rope_type": "linear", "factor": 0.0})),
        ("bands that cross", "rope_scaling", llama3(4.0, 1.0, 128)),
        ("an original context of zero", "rope_scaling", llama3(1.0, 4.0, 0)),
        ("first token beyond the vocabulary", "bos_token_id", json!(3)),
        ("last token beyond the vocabulary", "eos_token_id", json!(3)),
        ("one of the last tokens beyond it", "eos_token_id", json!([2, 3])),
        ("a last token below zero", "eos_token_id", json!(-1)),
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for (case, key, value) in cases {
        let mut config = config_json();
        config[key] = value;
        let read = read_folder(folder.path(), &format!("{config:#}"));
        report(&mut text, folder.path(), case, read);
    }
    report(&mut text, folder.path(), "a list", read_folder(folder.path(), "[1]"));
    report(&mut text, folder.path(), "cut short", read_folder(folder.path(), "{\"a\": "));
    insta::assert_snapshot!(text);
}

#[test]
fn generation_settings_name_the_tokens_that_end_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config_json();
    config["eos_token_id"] = json!(1);
    let ends = |settings: &str| {
        std::fs::write(folder.path().join("generation_config.json"), settings).unwrap();
        read_folder(folder.path(), &config.to_string()).unwrap().end_ids
    };
    assert_eq!(ends(r#"{"eos_token_id": [0, 2], "do_sample": true}"#), [0, 2]);
    assert_eq!(ends(r#"{"temperature": 0.6}"#), [1]);
    std::fs::remove_file(folder.path().join("generation_config.json")).unwrap();
    assert_eq!(read_folder(folder.path(), &config.to_string()).unwrap().end_ids, [1]);
}

#[test]
fn generation_settings_that_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("generation_config.json");
    let mut text = String::new();
    for (case, content) in [
        ("beyond the vocabulary", "{\n  \"eos_token_id\": [0, 3]\n}"),
        ("begins beyond it", r#"{"bos_token_id": 3}"#),
        ("wrong type", r#"{"eos_token_id": "</s>"}"#),
        ("a list", "[0]"),
        ("cut short", "{"),
        ("empty", ""),
    ] {
        std::fs::write(&settings, content).unwrap();
        let read = read_folder(folder.path(), &config_json().to_string());
        report(&mut text, folder.path(), case, read);
    }
    std::fs::remove_file(&settings).unwrap();
    std::fs::create_dir(&settings).unwrap();
    let read = read_folder(folder.path(), &config_json().to_string());
    report(&mut text, folder.path(), "a folder", read);
    insta::assert_snapshot!(text);
}

#[test]
fn a_claimed_number_of_layers_allocates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config_json();
    config["num_hidden_layers"] = json!(u32::MAX);
    read_folder(folder.path(), &config.to_string()).unwrap();
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    let pool = Arc::new(kernels::Pool::new(1).unwrap());
    let error = Model::load(&checkpoint, Profile::Hf517Eager, pool).err().unwrap();
    assert!(error.to_string().contains("embed_tokens"), "{error}");
}
