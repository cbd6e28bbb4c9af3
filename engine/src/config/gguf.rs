//! The configuration of a GGUF file: the metadata keys under its architecture's name.

use std::fmt::Display;

use super::{
    ConfigError, EPSILON, HeadSize, ModelConfig, POSITIVE, RopeConfig, RopeScaling, SIZE,
    ValuePlace, is_epsilon, is_positive,
};
use crate::checkpoint::{Checkpoint, Gguf};
use crate::models::{Family, family_named, family_names};

/// Keys under the architecture's name that change nothing here, with the reason.
const IGNORED: &[(&str, &str)] = &[
    ("expert_count", "zero, or tensors of experts are left over and refused"),
    ("expert_used_count", "as expert_count"),
    ("rope.scaling.finetuned", "a remark on the training"),
    ("rope.scaling.original_context_length", "the divisors of llama3 scaling are a tensor"),
];

/// The tokens that begin and end texts and turns.
const TOKEN_IDS: [&str; 4] = [
    "tokenizer.ggml.bos_token_id",
    "tokenizer.ggml.eos_token_id",
    "tokenizer.ggml.eot_token_id",
    "tokenizer.ggml.eom_token_id",
];

/// What angles are divided by, under the architecture's name.
const FACTOR: &str = "rope.scaling.factor";
/// The base of the rotary embedding where a file names none.
const DEFAULT_ROPE_BASE: f32 = 10_000.0;
/// llama3 scaling, worked out by the converter: what each pair's angle is divided by.
const ROPE_DIVISORS: &str = "rope_freqs.weight";

pub(super) fn read(checkpoint: &Checkpoint, file: &Gguf) -> Result<ModelConfig, ConfigError> {
    let metadata = file.metadata();
    let architecture = metadata.str("general.architecture")?;
    let family = family_named(architecture).ok_or_else(|| ConfigError::Architecture {
        path: file.path().to_path_buf(),
        found: architecture.to_owned(),
        supported: family_names(),
    })?;
    let reader = Reader { file, checkpoint, family };
    let config = reader.model()?;
    reader.refuse_unknown()?;
    Ok(config)
}

struct Reader<'a> {
    file: &'a Gguf,
    checkpoint: &'a Checkpoint,
    family: &'static Family,
}

impl Reader<'_> {
    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.family.name)
    }

    /// The number of something that there must be at least one of.
    fn size(&self, name: &str) -> Result<usize, ConfigError> {
        self.positive(name, self.file.metadata().u32(&self.key(name))?)
    }

    fn find_size(&self, name: &str) -> Result<Option<usize>, ConfigError> {
        let found = self.file.metadata().find::<u32>(&self.key(name))?;
        found.map(|size| self.positive(name, size)).transpose()
    }

    fn positive(&self, name: &str, size: u32) -> Result<usize, ConfigError> {
        if size > 0 { Ok(size as usize) } else { Err(self.refuse(name, size, SIZE)) }
    }

    /// A number that `accepts` takes.
    fn find_number(
        &self,
        name: &str,
        expected: &str,
        accepts: impl Fn(f32) -> bool,
    ) -> Result<Option<f32>, ConfigError> {
        match self.file.metadata().find::<f32>(&self.key(name))? {
            Some(number) if !accepts(number) => Err(self.refuse(name, number, expected)),
            found => Ok(found),
        }
    }

    fn number(
        &self,
        name: &str,
        expected: &str,
        accepts: impl Fn(f32) -> bool,
    ) -> Result<f32, ConfigError> {
        let found = self.find_number(name, expected, accepts)?;
        // The getter knows best how to say that a key is missing.
        found.map_or_else(|| Ok(self.file.metadata().f32(&self.key(name))?), Ok)
    }

    fn model(&self) -> Result<ModelConfig, ConfigError> {
        let hidden = self.size("embedding_length")?;
        let heads = self.size("attention.head_count")?;
        let head_dim = self.find_size("attention.key_length")?.unwrap_or(hidden / heads);
        self.expect("attention.value_length", head_dim)?;
        self.expect("rope.dimension_count", head_dim)?;
        let embedding = self.checkpoint.tensor("token_embd.weight")?;
        self.expect("vocab_size", embedding.rows())?;
        self.check_token_ids(embedding.rows())?;
        let norm_eps = "attention.layer_norm_rms_epsilon";
        let has = |name: &str| self.checkpoint.tensors().any(|tensor| tensor.name == name);
        let config = ModelConfig {
            family: self.family,
            vocabulary: embedding.rows(),
            hidden,
            intermediate: self.size("feed_forward_length")?,
            layers: self.size("block_count")?,
            heads,
            key_value_heads: self.find_size("attention.head_count_kv")?.unwrap_or(heads),
            head_dim,
            context_length: self.size("context_length")?,
            norm_eps: self.number(norm_eps, EPSILON, is_epsilon)?,
            rope: self.rope(head_dim)?,
            attention_bias: has("blk.0.attn_q.bias"),
            tied_head: !has("output.weight"),
            compute: None,
            // The tokenizer knows them.
            end_ids: Vec::new(),
        };
        match config.head_fault() {
            None => Ok(config),
            Some(fault) => {
                let name = match fault.size {
                    HeadSize::KeyValueHeads => "attention.head_count_kv",
                    HeadSize::Width => "attention.key_length",
                };
                if self.file.metadata().contains(&self.key(name)) {
                    return Err(self.refuse(name, fault.found, &fault.expected));
                }
                let found = format!("absent, which makes it {}", fault.found);
                Err(self.refuse(name, found, &fault.expected))
            }
        }
    }

    /// The tokens that begin and end a text must have a row of the embedding, whatever the tokenizer makes of them.
    fn check_token_ids(&self, vocabulary: usize) -> Result<(), ConfigError> {
        for key in TOKEN_IDS {
            let found = self.file.metadata().find::<u32>(key)?;
            if let Some(id) = found.filter(|&id| id as usize >= vocabulary) {
                let expected = format!("a token id below the vocabulary's {vocabulary}");
                return Err(self.refuse_key(key.to_owned(), id, &expected));
            }
        }
        Ok(())
    }

    fn rope(&self, head_dim: usize) -> Result<RopeConfig, ConfigError> {
        let metadata = self.file.metadata();
        let positive = |name| self.find_number(name, POSITIVE, is_positive);
        let base = positive("rope.freq_base")?.unwrap_or(DEFAULT_ROPE_BASE);
        let scaling = match metadata.find::<&str>(&self.key("rope.scaling.type"))? {
            None | Some("none") => {
                // What a factor of no scaling says is nothing.
                metadata.find::<f32>(&self.key(FACTOR))?;
                self.divisors(head_dim)?
            }
            Some("linear") => {
                RopeScaling::Linear { factor: self.number(FACTOR, POSITIVE, is_positive)? }
            }
            Some(kind) => {
                let found = format!("{kind:?}");
                return Err(self.refuse("rope.scaling.type", found, "\"none\" or \"linear\""));
            }
        };
        Ok(RopeConfig { base, pairs: self.family.converted_pairs, scaling })
    }

    fn divisors(&self, head_dim: usize) -> Result<RopeScaling, ConfigError> {
        let Some(tensor) = self.checkpoint.find(ROPE_DIVISORS) else {
            return Ok(RopeScaling::None);
        };
        let refuse = |found: String| ConfigError::Value {
            path: self.file.path().to_path_buf(),
            key: ROPE_DIVISORS.to_owned(),
            place: ValuePlace::Nowhere,
            found,
            expected: format!("{} positive values", head_dim / 2),
        };
        // The file's tensor is as long as the file says; the head width is only a claim.
        if *tensor.shape != [head_dim / 2] {
            return Err(refuse(format!("shape {:?}", tensor.shape)));
        }
        let mut divisors = vec![0.0; head_dim / 2];
        kernels::dequantize_row(tensor.format, tensor.bytes, &mut divisors)
            .map_err(|error| refuse(error.to_string()))?;
        if let Some(divisor) = divisors.iter().find(|&&divisor| !is_positive(divisor)) {
            return Err(refuse(format!("a tensor with {divisor}")));
        }
        Ok(RopeScaling::Divisors(divisors))
    }

    /// A key that may be absent but may not say anything else.
    fn expect(&self, name: &str, value: usize) -> Result<(), ConfigError> {
        match self.find_size(name)? {
            Some(found) if found != value => Err(self.refuse(name, found, &value.to_string())),
            _ => Ok(()),
        }
    }

    fn refuse(&self, name: &str, found: impl Display, expected: &str) -> ConfigError {
        self.refuse_key(self.key(name), found, expected)
    }

    fn refuse_key(&self, key: String, found: impl Display, expected: &str) -> ConfigError {
        ConfigError::Value {
            path: self.file.path().to_path_buf(),
            place: self.file.metadata().offset(&key).map_or(ValuePlace::Nowhere, ValuePlace::Byte),
            key,
            found: found.to_string(),
            expected: expected.to_owned(),
        }
    }

    fn refuse_unknown(&self) -> Result<(), ConfigError> {
        let prefix = self.key("");
        let unknown: Vec<String> = self
            .file
            .metadata()
            .unused()
            .into_iter()
            .filter(|key| {
                let name = key.strip_prefix(&prefix);
                name.is_some_and(|name| IGNORED.iter().all(|(ignored, _)| *ignored != name))
            })
            .map(str::to_owned)
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        Err(ConfigError::UnknownKeys {
            path: self.file.path().to_path_buf(),
            family: self.family.name,
            keys: unknown,
        })
    }
}
