//! Numerics profiles: where a value is rounded, to what, and in which order it is summed.
//!
//! There is one forward pass. A profile decides how each of its operations is computed, so that the result
//! can be compared with the engine whose habits the profile copies.

mod hf517_eager;
mod llamacpp_cpu;
mod rotary;
mod vllm025_compiled;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use kernels::{Format, Matrix, Order, Pool, Scratch};

use crate::checkpoint::Checkpoint;
use crate::config::{ComputeType, ModelConfig, RopeConfig};
use crate::hidden::Hidden;
use crate::kv::{CacheFormat, LayerCache};
use crate::scheduler::Pieces;
pub use rotary::RotaryTable;

/// The heads of an attention layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadShape {
    /// Query heads.
    pub heads: usize,
    /// Key and value heads, each shared by `heads / key_value_heads` query heads.
    pub key_value_heads: usize,
    /// Width of one head.
    pub dim: usize,
}

impl HeadShape {
    /// The key head that a query head attends to.
    pub fn key_head(self, head: usize) -> usize {
        head / (self.heads / self.key_value_heads)
    }
}

/// What one sequence of a batch attends to.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The layer's keys and values, those of the batch among them.
    pub cache: LayerCache<'a>,
    /// The position of the sequence's first row in the batch.
    pub first: usize,
}

/// The operations of a forward pass, as one profile computes them.
///
/// Rows of several sequences lie one after the other, as many of each; no row's bits depend on another sequence's.
/// Shapes are the caller's: a model checks them all when it is loaded.
pub trait Numerics {
    /// Which profile this is.
    fn profile(&self) -> Profile;
    /// How keys and values are kept.
    fn cache_format(&self) -> CacheFormat;
    /// The most rows of a prompt that go through the model at once.
    fn batch_rows(&self) -> usize;
    /// Into which pieces a prompt may be cut without changing a bit.
    fn pieces(&self) -> Pieces;
    /// Rows of the embedding table.
    fn embed(&mut self, table: &Matrix<'_>, ids: &[u32]) -> Hidden;
    /// `y = W x + b`, for rows of so many sequences.
    fn linear(
        &mut self,
        weight: &Matrix<'_>,
        bias: Option<&[f32]>,
        x: &Hidden,
        sequences: usize,
    ) -> Hidden;
    /// Root mean square normalisation of every piece of `weight.len()` values.
    fn rms_norm(&mut self, weight: &[f32], eps: f32, x: &Hidden) -> Hidden;
    /// The angles of some positions, for heads of `dim` values.
    fn rotary(&mut self, rope: &RopeConfig, dim: usize, positions: &[usize]) -> RotaryTable;
    /// Turns every head of every row to its position.
    fn rotate(&mut self, table: &RotaryTable, heads: &mut Hidden);
    /// Attends from every row of `query` to the positions at and before it in its own sequence's context.
    fn attend(&mut self, query: &Hidden, contexts: &[Context<'_>], shape: HeadShape) -> Hidden;
    /// `silu(gate) * up`.
    fn silu_mul(&mut self, gate: &Hidden, up: &Hidden) -> Hidden;
    /// `x + y`.
    fn add(&mut self, x: Hidden, y: &Hidden) -> Hidden;
}

/// The profiles that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// llama.cpp's CPU backend in an AVX2 build, one thread, flash attention on, half-precision cache:
    /// `f32` activations, dot products on quantised blocks.
    LlamaCppCpu,
    /// Hugging Face transformers 5.17 with eager attention: every operation rounds to the model's type.
    Hf517Eager,
    /// vLLM 0.25.0 as it runs in production, compiled: what is fused rounds once, at its end.
    Vllm025Compiled,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::LlamaCppCpu, Self::Hf517Eager, Self::Vllm025Compiled];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::LlamaCppCpu => "llamacpp-cpu",
            Self::Hf517Eager => "hf517-eager",
            Self::Vllm025Compiled => "vllm025-compiled",
        }
    }

    /// The profile of the engine for which a checkpoint is made.
    pub fn natural(checkpoint: &Checkpoint) -> Self {
        match checkpoint {
            Checkpoint::Gguf(_) => Self::LlamaCppCpu,
            Checkpoint::Safetensors(_) => Self::Hf517Eager,
        }
    }

    /// The profile's operations for a model, or why it cannot compute this one.
    pub fn numerics(
        self,
        checkpoint: &Checkpoint,
        config: &ModelConfig,
        pool: Arc<Pool>,
    ) -> Result<Box<dyn Numerics>, ProfileError> {
        let compute = match self {
            Self::LlamaCppCpu => ComputeType::F32,
            Self::Hf517Eager | Self::Vllm025Compiled => torch_type(self, checkpoint, config)?,
        };
        self.operations(compute, pool)
    }

    /// The profile's operations on activations of that type, without a model; llamacpp-cpu computes in `f32` alone.
    pub fn operations(
        self,
        compute: ComputeType,
        pool: Arc<Pool>,
    ) -> Result<Box<dyn Numerics>, ProfileError> {
        match self {
            Self::LlamaCppCpu => {
                Ok(Box::new(llamacpp_cpu::LlamaCppCpu::new(pool).map_err(ProfileError::Kernels)?))
            }
            Self::Hf517Eager => Ok(Box::new(hf517_eager::Hf517Eager::new(pool, compute))),
            Self::Vllm025Compiled => {
                Ok(Box::new(vllm025_compiled::Vllm025Compiled::new(pool, compute)))
            }
        }
    }
}

/// A profile that cannot compute a model.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The kernels refuse.
    #[error("the kernels of this profile cannot run here")]
    Kernels(#[source] kernels::Error),
    /// Weights in a type in which PyTorch would not compute.
    #[error(
        "profile {profile} needs every matrix in {expected}, but {name:?} is {found}; use llamacpp-cpu"
    )]
    Format {
        /// The profile.
        profile: Profile,
        /// The type of the computation.
        expected: Format,
        /// A tensor.
        name: String,
        /// Its format.
        found: Format,
    },
    /// No such profile.
    #[error("there is no profile {0:?}; there are llamacpp-cpu, hf517-eager and vllm025-compiled")]
    Unknown(String),
}

/// The type in which PyTorch's engines compute a checkpoint: what the configuration says, else what it holds.
fn torch_type(
    profile: Profile,
    checkpoint: &Checkpoint,
    config: &ModelConfig,
) -> Result<ComputeType, ProfileError> {
    let matrices = || checkpoint.tensors().filter(|tensor| tensor.shape.len() > 1);
    let stored = matrices().next().map(|tensor| tensor.format);
    let compute = config.compute.unwrap_or(match stored {
        Some(Format::Bf16) => ComputeType::Bf16,
        _ => ComputeType::F32,
    });
    let expected = match compute {
        ComputeType::F32 => Format::F32,
        ComputeType::Bf16 => Format::Bf16,
    };
    match matrices().find(|tensor| tensor.format != expected) {
        None => Ok(compute),
        Some(tensor) => Err(ProfileError::Format {
            profile,
            expected,
            name: tensor.name.to_owned(),
            found: tensor.format,
        }),
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = ProfileError;

    fn from_str(name: &str) -> Result<Self, ProfileError> {
        let found = Self::ALL.into_iter().find(|profile| profile.name() == name);
        found.ok_or_else(|| ProfileError::Unknown(name.to_owned()))
    }
}

/// `W x + b`, whose shapes were checked when the model was loaded, its sums in that order, with rows of so many sequences.
fn product(
    pool: &Pool,
    order: Order,
    sequences: usize,
    weight: &Matrix<'_>,
    bias: Option<&[f32]>,
    x: &Hidden,
    scratch: &mut Scratch,
) -> Hidden {
    let mut y = Hidden::zeros(x.rows(), weight.rows());
    let batch = x.rows() / sequences.max(1);
    kernels::matmul_in_order(pool, order, batch, weight, x.values(), y.values_mut(), scratch)
        .expect("a model's shapes are checked when it is loaded");
    if let Some(bias) = bias {
        for row in y.values_mut().chunks_exact_mut(bias.len()) {
            row.iter_mut().zip(bias).for_each(|(y, b)| *y += b);
        }
    }
    y
}

/// Rows of a table whose ids were checked when the batch was made.
fn gather(table: &Matrix<'_>, ids: &[u32]) -> Hidden {
    let mut rows = Hidden::zeros(ids.len(), table.cols());
    for (row, &id) in rows.values_mut().chunks_exact_mut(table.cols()).zip(ids) {
        table.gather(id as usize, row).expect("a model's shapes are checked when it is loaded");
    }
    rows
}
