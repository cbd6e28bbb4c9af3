//! Flags that several verbs share.

use std::num::{NonZeroUsize, ParseIntError};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;

use clap::Args;
use kernels::Pool;

use super::CliError;
use crate::numerics::Profile;
use crate::sampler::Sampling;

/// No machine that this engine is made for has more processors; each thread takes a stack, and time to be started.
const MOST_THREADS: usize = 1024;

/// A model and how to run it.
#[derive(Debug, Args)]
pub(super) struct ModelOptions {
    /// A .gguf file, or a folder with config.json, *.safetensors and tokenizer.json
    pub(super) model: PathBuf,
    #[command(flatten)]
    pub(super) run: RunOptions,
}

/// How to run a model.
#[derive(Debug, Args)]
pub(super) struct RunOptions {
    /// Whose numerics to copy: llamacpp-cpu (default for GGUF), hf517-eager (default for safetensors) or vllm025-compiled
    #[arg(long, value_name = "NAME", value_parser = |name: &str| name.parse::<Profile>())]
    pub(super) profile: Option<Profile>,
    /// Threads to compute with, at most 1024 [default: all]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(super) threads: Option<NonZeroUsize>,
    /// The most tokens of a sequence [default: the model's, at most 4096]
    #[arg(long, value_name = "N")]
    pub(super) max_context: Option<NonZeroUsize>,
}

impl RunOptions {
    /// The threads that the flags ask for.
    pub(super) fn pool(&self) -> Result<Arc<Pool>, CliError> {
        let threads = self.threads.or_else(|| available_parallelism().ok());
        let threads = threads.map_or(1, NonZeroUsize::get).min(MOST_THREADS);
        Ok(Arc::new(Pool::new(threads).map_err(CliError::Kernels)?))
    }
}

/// Reads a number of threads.
pub(super) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let threads: NonZeroUsize = text.parse().map_err(|error: ParseIntError| error.to_string())?;
    if threads.get() > MOST_THREADS {
        return Err(format!("at most {MOST_THREADS} threads are started"));
    }
    Ok(threads)
}

/// How to choose tokens.
#[derive(Debug, Args)]
pub(super) struct SamplingOptions {
    /// What logits are divided by; 0 takes the most likely token
    #[arg(long, default_value_t = 0.0)]
    temperature: f32,
    /// Draw among this many of the most likely tokens; 0 among all
    #[arg(long, default_value_t = 0)]
    top_k: usize,
    /// Draw among the most likely tokens that together reach this probability
    #[arg(long, default_value_t = 1.0)]
    top_p: f32,
    /// Draw among tokens at least this likely compared to the most likely one
    #[arg(long, default_value_t = 0.0)]
    min_p: f32,
    /// The seed of the draws
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Make tokens that were seen less likely; 1 does nothing
    #[arg(long, default_value_t = 1.0)]
    repetition_penalty: f32,
}

impl SamplingOptions {
    /// The settings, checked.
    pub(super) fn sampling(&self) -> Result<Sampling, CliError> {
        let sampling = Sampling {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            seed: self.seed,
            repetition_penalty: self.repetition_penalty,
            ..Sampling::default()
        };
        match sampling.fault() {
            None => Ok(sampling),
            Some(fault) => Err(CliError::Argument { name: "sampling", fault: fault.to_owned() }),
        }
    }
}
