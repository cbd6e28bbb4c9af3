//! The configuration of a GGUF file: the metadata keys under its architecture's name.

use super::{ConfigError, ModelConfig, RopeConfig, RopeScaling};
use crate::checkpoint::{Checkpoint, Gguf};
use crate::models::{Family, family_named, family_names};

/// Keys under the architecture's name that change nothing here, with the reason.
const IGNORED: &[(&str, &str)] = &[
    ("expert_count", "zero, or tensors of experts are left over and refused"),
    ("expert_used_count", "as expert_count"),
    ("rope.scaling.finetuned", "a remark on the training"),
    ("rope.scaling.original_context_length", "the divisors of llama3 scaling are a tensor"),
];

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

    fn size(&self, name: &str) -> Result<usize, ConfigError> {
        Ok(self.file.metadata().u32(&self.key(name))? as usize)
    }

    fn find_size(&self, name: &str) -> Result<Option<usize>, ConfigError> {
        Ok(self.file.metadata().find::<u32>(&self.key(name))?.map(|n| n as usize))
    }

    fn model(&self) -> Result<ModelConfig, ConfigError> {
        let hidden = self.size("embedding_length")?;
        let heads = self.size("attention.head_count")?;
        let head_dim = self.find_size("attention.key_length")?.unwrap_or(hidden / heads.max(1));
        self.expect("attention.value_length", head_dim)?;
        self.expect("rope.dimension_count", head_dim)?;
        let embedding = self.checkpoint.tensor("token_embd.weight")?;
        self.expect("vocab_size", embedding.rows())?;
        let has = |name: &str| self.checkpoint.tensors().any(|tensor| tensor.name == name);
        Ok(ModelConfig {
            family: self.family,
            vocabulary: embedding.rows(),
            hidden,
            intermediate: self.size("feed_forward_length")?,
            layers: self.size("block_count")?,
            heads,
            key_value_heads: self.find_size("attention.head_count_kv")?.unwrap_or(heads),
            head_dim,
            context_length: self.size("context_length")?,
            norm_eps: self.file.metadata().f32(&self.key("attention.layer_norm_rms_epsilon"))?,
            rope: self.rope(head_dim)?,
            attention_bias: has("blk.0.attn_q.bias"),
            tied_head: !has("output.weight"),
            compute: None,
            end_ids: Vec::new(),
        })
    }

    fn rope(&self, head_dim: usize) -> Result<RopeConfig, ConfigError> {
        let metadata = self.file.metadata();
        let base = metadata.find::<f32>(&self.key("rope.freq_base"))?.unwrap_or(DEFAULT_ROPE_BASE);
        let factor = metadata.find::<f32>(&self.key("rope.scaling.factor"))?;
        let kind = metadata.find::<&str>(&self.key("rope.scaling.type"))?;
        let scaling = match (kind, factor) {
            (None | Some("none"), _) => self.divisors(head_dim)?,
            (Some("linear"), Some(factor)) if factor > 0.0 => RopeScaling::Linear { factor },
            (Some(kind), _) => {
                return Err(self.refuse(
                    "rope.scaling.type",
                    kind,
                    "\"none\", or \"linear\" with a factor",
                ));
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
            found,
            expected: format!("{} values", head_dim / 2),
        };
        // The file's tensor is as long as the file says; the head width is only a claim.
        if *tensor.shape != [head_dim / 2] {
            return Err(refuse(format!("shape {:?}", tensor.shape)));
        }
        let mut divisors = vec![0.0; head_dim / 2];
        kernels::dequantize_row(tensor.format, tensor.bytes, &mut divisors)
            .map_err(|error| refuse(error.to_string()))?;
        Ok(RopeScaling::Divisors(divisors))
    }

    /// A key that may be absent but may not say anything else.
    fn expect(&self, name: &str, value: usize) -> Result<(), ConfigError> {
        match self.find_size(name)? {
            Some(found) if found != value => {
                Err(self.refuse(name, &found.to_string(), &value.to_string()))
            }
            _ => Ok(()),
        }
    }

    fn refuse(&self, name: &str, found: &str, expected: &str) -> ConfigError {
        ConfigError::Value {
            path: self.file.path().to_path_buf(),
            key: self.key(name),
            found: found.to_owned(),
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
