//! The shape of a model, read from GGUF metadata or from a `config.json`.
//!
//! Every key that describes the model is used, fixed to the only value supported, or on a list of ignored
//! keys with a reason: a key that nobody knows is an error, because parity is lost in keys silently skipped.

mod error;
mod gguf;
mod hugging_face;
mod keys;
mod lines;

pub use error::{ConfigError, ValuePlace};
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

/// No size is larger than this: two of them can be multiplied with each other without overflow.
const MAX_SIZE: u64 = u32::MAX as u64;
/// What every size has to be, for messages.
const SIZE: &str = "a whole number from 1 to 4294967295";

impl ModelConfig {
    /// Reads the configuration that belongs to `checkpoint`.
    pub fn read(checkpoint: &Checkpoint) -> Result<Self, ConfigError> {
        match checkpoint {
            Checkpoint::Gguf(file) => gguf::read(checkpoint, file),
            Checkpoint::Safetensors(files) => hugging_face::read(files),
        }
    }

    /// Width of all query heads together.
    pub fn query_width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Width of all key heads, and of all value heads, together.
    pub fn key_value_width(&self) -> usize {
        self.key_value_heads * self.head_dim
    }

    /// The first of the sizes of heads that does not go with the others; none if all do.
    fn head_fault(&self) -> Option<HeadFault> {
        let Self { heads, key_value_heads, head_dim, .. } = *self;
        let fault = |size, found, expected: &str| {
            Some(HeadFault { size, found, expected: expected.to_owned() })
        };
        if !heads.is_multiple_of(key_value_heads) {
            let expected = format!("a divisor of the {heads} query heads");
            return fault(HeadSize::KeyValueHeads, key_value_heads, &expected);
        }
        if head_dim == 0 || !head_dim.is_multiple_of(2) {
            return fault(HeadSize::Width, head_dim, "a positive even number");
        }
        if heads.checked_mul(head_dim).is_none_or(|width| width as u64 > MAX_SIZE) {
            let expected = "at most 4294967295 for all heads together";
            return fault(HeadSize::Width, head_dim, expected);
        }
        None
    }
}

/// A size of the heads that breaks a rule.
struct HeadFault {
    size: HeadSize,
    found: usize,
    expected: String,
}

/// Which size of the heads: the two kinds of checkpoint have their own names for it.
enum HeadSize {
    KeyValueHeads,
    Width,
}

/// Whether a number can divide angles or be the base of a series of them.
fn is_positive(number: f32) -> bool {
    number > 0.0 && number.is_finite()
}

/// What [`is_positive`] asks for, for messages.
const POSITIVE: &str = "a positive number of single precision";

/// Whether a number can be what a norm adds to the mean square.
fn is_epsilon(number: f32) -> bool {
    (0.0..1.0).contains(&number)
}

/// What [`is_epsilon`] asks for, for messages.
const EPSILON: &str = "a number from 0 to below 1";
