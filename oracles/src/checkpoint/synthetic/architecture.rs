//! Which tensors an architecture has: names and shapes as transformers writes them.

use std::path::Path;

use serde_json::{Map, Value};

use super::tokenizer;
use crate::spec::SpecError;

/// A tensor to fill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) name: String,
    /// Slowest dimension first.
    pub(super) shape: Vec<u64>,
    pub(super) kind: Kind,
}

/// What a tensor is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Noise of the spec's standard deviation.
    Matrix,
    /// Noise around one.
    Scale,
}

impl Tensor {
    pub(super) fn elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// In bf16.
    pub(super) fn bytes(&self) -> u64 {
        2 * self.elements()
    }
}

/// The families that can be made, by `model_type`; the second is whether q and k are normed.
const FAMILIES: [(&str, bool); 2] = [("llama", false), ("qwen3", true)];

/// Keys whose presence with any other value would change the tensors.
const PLAIN: [(&str, Value); 2] =
    [("attention_bias", Value::Bool(false)), ("mlp_bias", Value::Bool(false))];

/// The largest value of a dimension or a count: keeps products far from 2^64.
const LARGEST: u64 = 1 << 20;

struct Config<'a> {
    path: &'a Path,
    keys: &'a Map<String, Value>,
}

impl Config<'_> {
    fn refuse(&self, key: &str, expected: &str) -> SpecError {
        let found = self.keys.get(key).map_or("nothing".to_owned(), Value::to_string);
        SpecError::value(self.path, &format!("synthetic.config.{key}"), expected, &found)
    }

    fn count(&self, key: &str) -> Result<u64, SpecError> {
        let count = self.keys.get(key).and_then(Value::as_u64);
        count
            .filter(|count| (1..=LARGEST).contains(count))
            .ok_or_else(|| self.refuse(key, "a whole number from 1 to 1048576"))
    }

    fn flag(&self, key: &str) -> Result<bool, SpecError> {
        self.keys.get(key).and_then(Value::as_bool).ok_or_else(|| self.refuse(key, "true or false"))
    }
}

/// The tensors of `config`, in the order of the file; refuses what no family here has.
pub(super) fn tensors(path: &Path, keys: &Map<String, Value>) -> Result<Vec<Tensor>, SpecError> {
    let config = Config { path, keys };
    let family = keys.get("model_type").and_then(Value::as_str);
    let family = FAMILIES.iter().find(|(name, _)| Some(*name) == family);
    let (_, normed) =
        family.ok_or_else(|| config.refuse("model_type", "\"llama\" or \"qwen3\""))?;
    for (key, value) in &PLAIN {
        if keys.get(*key).is_some_and(|found| found != value) {
            return Err(config.refuse(key, &value.to_string()));
        }
    }
    let hidden = config.count("hidden_size")?;
    let inner = config.count("intermediate_size")?;
    let layers = config.count("num_hidden_layers")?;
    let heads = config.count("num_attention_heads")?;
    let kv_heads = config.count("num_key_value_heads")?;
    let width = config.count("head_dim")?;
    let vocabulary = config.count("vocab_size")?;
    if vocabulary < tokenizer::SIZE {
        return Err(config.refuse("vocab_size", "at least 259: the bytes and three specials"));
    }
    if !heads.is_multiple_of(kv_heads) {
        return Err(config.refuse("num_key_value_heads", "a divisor of num_attention_heads"));
    }
    let matrix = |name: String, rows, columns| Tensor {
        name,
        shape: vec![rows, columns],
        kind: Kind::Matrix,
    };
    let scale = |name: String, width| Tensor { name, shape: vec![width], kind: Kind::Scale };
    let mut all = vec![matrix("model.embed_tokens.weight".to_owned(), vocabulary, hidden)];
    for layer in 0..layers {
        let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
        all.push(scale(name("input_layernorm"), hidden));
        all.push(matrix(name("self_attn.q_proj"), heads * width, hidden));
        all.push(matrix(name("self_attn.k_proj"), kv_heads * width, hidden));
        all.push(matrix(name("self_attn.v_proj"), kv_heads * width, hidden));
        all.push(matrix(name("self_attn.o_proj"), hidden, heads * width));
        if *normed {
            all.push(scale(name("self_attn.q_norm"), width));
            all.push(scale(name("self_attn.k_norm"), width));
        }
        all.push(scale(name("post_attention_layernorm"), hidden));
        all.push(matrix(name("mlp.gate_proj"), inner, hidden));
        all.push(matrix(name("mlp.up_proj"), inner, hidden));
        all.push(matrix(name("mlp.down_proj"), hidden, inner));
    }
    all.push(scale("model.norm.weight".to_owned(), hidden));
    if !config.flag("tie_word_embeddings")? {
        all.push(matrix("lm_head.weight".to_owned(), vocabulary, hidden));
    }
    Ok(all)
}
