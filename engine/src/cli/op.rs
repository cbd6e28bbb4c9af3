//! `plumb op`: one operation of a numerics profile, on tensors from a file and without a model.
//!
//! The operations are the profile's own, those of a forward pass: there is no second implementation to be tested instead.

mod operations;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;

use super::options::RunOptions;
use super::tensors::{self, TensorFile};
use super::{CliError, Streams};
use crate::config::ComputeType;
use crate::numerics::Profile;
use operations::Operand;

/// Compute one operation.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The operation: add, argmax, attention, embedding, linear, rms-norm, rope or silu-mul
    name: String,
    /// Its constants, a JSON object, such as {"eps": 1e-6}
    #[arg(long, value_name = "JSON", default_value = "{}")]
    args: String,
    /// Whose operation: hf517-eager, vllm025-compiled or llamacpp-cpu
    #[arg(long, value_name = "NAME", value_parser = |name: &str| name.parse::<Profile>())]
    profile: Profile,
    /// The type of activations, to which the profiles of PyTorch's engines round: bfloat16 or float32
    #[arg(long, value_name = "NAME", value_parser = compute_type)]
    dtype: ComputeType,
    /// Threads to compute with, at most 1024 [default: all]
    #[arg(long, value_name = "N", value_parser = super::options::threads)]
    threads: Option<std::num::NonZeroUsize>,
    /// A safetensors file with what it is computed from
    #[arg(long, value_name = "FILE")]
    inputs: PathBuf,
    /// The file to write: floats as f32, ids as i64
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

fn compute_type(name: &str) -> Result<ComputeType, String> {
    match name {
        "bfloat16" => Ok(ComputeType::Bf16),
        "float32" => Ok(ComputeType::F32),
        _ => Err("expected bfloat16 or float32".to_owned()),
    }
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let Arguments { profile, dtype, .. } = *arguments;
    if profile == Profile::LlamaCppCpu && dtype != ComputeType::F32 {
        let fault = format!("{profile} computes in float32 alone");
        return Err(CliError::Argument { name: "--dtype", fault });
    }
    let file = TensorFile::read(&arguments.inputs)?;
    let options = RunOptions { profile: None, threads: arguments.threads, max_context: None };
    let numerics = profile.operations(dtype, options.pool()?)?;
    let mut operand = Operand { file: &file, args: &arguments.args, numerics };
    let (name, tensor) = operand.compute(&arguments.name)?;
    tensors::write(&arguments.out, &BTreeMap::from([(name.to_owned(), tensor)]))?;
    let message = writeln!(streams.progress, "wrote {}", arguments.out.display());
    message.map_err(|source| CliError::Stream { action: "report progress", source })
}
