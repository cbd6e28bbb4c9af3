//! The shape of a model, read from GGUF metadata or from a `config.json`.
//!
//! Every key that describes the model is used, fixed to the only value supported, or on a list of ignored
//! keys with a reason: a key that nobody knows is an error, because parity is lost in keys silently skipped.

mod error;
mod gguf;
mod hugging_face;
mod keys;

pub use error::ConfigError;
use kernels::ops::Pairs;

use crate::checkpoint::Checkpoint;
use crate::models::Family;

/// The shape of a decoder-only transformer and the constants of its operations.
#[derive(Clone, Debug)]
pub struct ModelConfig {
    /// The family that builds it.
    pub family: &'static Family,
    /// Rows of the embedding: how many token ids there are.
    pub vocabulary: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Width of the gated feed-forward network.
    pub intermediate: usize,
    /// Number of layers.
    pub layers: usize,
    /// Query heads of a layer.
    pub heads: usize,
    /// Key and value heads of a layer; divides `heads`.
    pub key_value_heads: usize,
    /// Width of one head.
    pub head_dim: usize,
    /// The longest sequence the model was trained for, in tokens.
    pub context_length: usize,
    /// Added to the mean square before its root.
    pub norm_eps: f32,
    /// The rotary embedding.
    pub rope: RopeConfig,
    /// Whether the query, key, value and output projections have a bias.
    pub attention_bias: bool,
    /// Whether the output head is the embedding.
    pub tied_head: bool,
    /// The type in which the checkpoint wants to be computed, where it says so.
    pub compute: Option<ComputeType>,
    /// Token ids that end a generation, as the model's configuration names them.
    pub end_ids: Vec<u32>,
}

/// The type of activations that a checkpoint asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComputeType {
    /// IEEE single.
    F32,
    /// bfloat16: every operation's result is rounded to it.
    Bf16,
}

/// The rotary embedding of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct RopeConfig {
    /// The base of the geometric series of angles.
    pub base: f32,
    /// Which values of a head form a pair, in this checkpoint.
    pub pairs: Pairs,
    /// How angles are stretched for longer contexts.
    pub scaling: RopeScaling,
}

/// How the angles of the rotary embedding are stretched.
#[derive(Clone, Debug, PartialEq)]
pub enum RopeScaling {
    /// Not at all.
    None,
    /// Every angle is divided by `factor`.
    Linear {
        /// The divisor.
        factor: f32,
    },
    /// Llama 3.1: slow pairs are divided by `factor`, fast ones are left alone, those between are blended.
    Llama3 {
        /// The divisor of slow pairs.
        factor: f32,
        /// Pairs that turn fewer times than this in the original context are slow.
        low_frequency_factor: f32,
        /// Pairs that turn more times than this are fast.
        high_frequency_factor: f32,
        /// The context of the first training, in tokens.
        original_context: usize,
    },
    /// One divisor a pair, as a tensor of the checkpoint.
    Divisors(Vec<f32>),
}

/// No layer is wider than this: sizes below it can be multiplied with each other without overflow.
const MAX_WIDTH: usize = u32::MAX as usize;

impl ModelConfig {
    /// Reads the configuration that belongs to `checkpoint`.
    pub fn read(checkpoint: &Checkpoint) -> Result<Self, ConfigError> {
        let config = match checkpoint {
            Checkpoint::Gguf(file) => gguf::read(checkpoint, file)?,
            Checkpoint::Safetensors(files) => hugging_face::read(files)?,
        };
        config.check(checkpoint.path())?;
        Ok(config)
    }

    /// Width of all query heads together.
    pub fn query_width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Width of all key heads, and of all value heads, together.
    pub fn key_value_width(&self) -> usize {
        self.key_value_heads * self.head_dim
    }

    fn check(&self, path: &std::path::Path) -> Result<(), ConfigError> {
        let rules = [
            ("the layer count is zero", self.layers > 0),
            ("the vocabulary is empty", self.vocabulary > 0),
            ("the hidden size is zero", self.hidden > 0),
            ("the feed-forward size is zero", self.intermediate > 0),
            (
                "the head dimension is zero or odd",
                self.head_dim > 0 && self.head_dim.is_multiple_of(2),
            ),
            (
                "the query heads are not a multiple of the key-value heads",
                self.key_value_heads > 0
                    && self.heads > 0
                    && self.heads.is_multiple_of(self.key_value_heads),
            ),
            ("the context length is zero", self.context_length > 0),
            (
                "a width, or the heads together, exceed 4294967295",
                self.heads.checked_mul(self.head_dim).is_some_and(|width| width <= MAX_WIDTH)
                    && self.hidden <= MAX_WIDTH
                    && self.intermediate <= MAX_WIDTH
                    && self.vocabulary <= MAX_WIDTH,
            ),
            ("the norm's epsilon is not a small number", (0.0..1.0).contains(&self.norm_eps)),
            ("the rope base is not positive", self.rope.base > 0.0 && self.rope.base.is_finite()),
        ];
        match rules.into_iter().find(|(_, holds)| !holds) {
            None => Ok(()),
            Some((fault, _)) => Err(ConfigError::Shape { path: path.to_path_buf(), fault }),
        }
    }
}
