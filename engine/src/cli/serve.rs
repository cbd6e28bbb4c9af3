//! `plumb serve`: a model over HTTP.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::options::{RunOptions, threads};
use super::session::{STEP_PROMPT_TOKENS, Session};
use super::{BuildInfo, CliError};
use crate::checkpoint::Checkpoint;
use crate::engine::Engine;
use crate::kv::{BlockSize, Budget, Need, available_memory};
use crate::numerics::Profile;
use crate::scheduler::{Limits, Pieces, Policy};
use crate::serve::{App, Keys, Metrics, Server, Settings, Worker, engine_handle};

/// Serve a model.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A .gguf file, or a folder with config.json, *.safetensors and tokenizer.json
    model: PathBuf,
    /// Whose numerics to copy: llamacpp-cpu (default for GGUF) or hf517-eager (default for safetensors)
    #[arg(long, value_name = "NAME", value_parser = |name: &str| name.parse::<Profile>())]
    profile: Option<Profile>,
    /// Threads to compute with, at most 1024 [default: all]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZeroUsize>,
    #[command(flatten)]
    listen: Listen,
    #[command(flatten)]
    cache: CacheOptions,
    #[command(flatten)]
    schedule: ScheduleOptions,
}

/// Where to listen, and to whom.
#[derive(Debug, Args)]
struct Listen {
    /// The address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// The port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 8000)]
    port: u16,
    /// The names under which the model is asked for [default: the path]
    #[arg(long, value_name = "NAME", num_args = 1..)]
    served_model_name: Vec<String>,
    /// Keys of which a request to /v1 must carry one, as "Authorization: Bearer KEY"
    #[arg(long, value_name = "KEY", num_args = 1..)]
    api_key: Vec<String>,
    /// The most bytes of a request's body
    #[arg(long, value_name = "BYTES", default_value = "32MiB")]
    max_body: Size,
    /// The most requests at once, those that wait included
    #[arg(long, value_name = "N", default_value = "4096")]
    max_concurrent_requests: NonZeroUsize,
    /// The most log probabilities a request may ask for at each token
    #[arg(long, value_name = "N", default_value_t = 20)]
    max_logprobs: usize,
    /// How long requests at work may go on after SIGTERM, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    drain_timeout: u64,
}

/// The cache of keys and values.
#[derive(Debug, Args)]
struct CacheOptions {
    /// The longest sequence in tokens, or "auto": the model's, shortened to what memory holds
    #[arg(long, value_name = "N|auto", default_value = "auto")]
    max_model_len: Length,
    /// Memory for keys and values, such as 4GiB [default: what the sequences can take, at most half of what is free]
    #[arg(long, value_name = "BYTES")]
    kv_cache_memory: Option<Size>,
    /// Positions of a block: a power of two, at most 512
    #[arg(long, value_name = "N", default_value = "16", value_parser = block_size)]
    block_size: BlockSize,
    /// Compute every prompt anew instead of sharing the blocks of equal beginnings
    #[arg(long)]
    no_enable_prefix_caching: bool,
}

/// Who runs when.
#[derive(Debug, Args)]
struct ScheduleOptions {
    /// Sequences at work at once
    #[arg(long, value_name = "N", default_value = "32")]
    max_num_seqs: NonZeroUsize,
    /// Tokens of a step, of prompts and answers [default: 512 and one for each sequence]
    #[arg(long, value_name = "N")]
    max_num_batched_tokens: Option<NonZeroUsize>,
    /// Who goes first: whoever came first, or the lowest priority value
    #[arg(long, value_enum, default_value_t = PolicyName::Fcfs)]
    scheduling_policy: PolicyName,
    /// Requests that may wait for their turn; more are refused with 429
    #[arg(long, value_name = "N", default_value_t = 1024)]
    max_waiting: usize,
    /// How long a request may wait for its first step, in seconds; then it is refused with 503
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0)]
    queue_timeout: f64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PolicyName {
    Fcfs,
    Priority,
}

/// A number of bytes: 1024, 512MiB, 4GiB.
#[derive(Clone, Copy, Debug)]
struct Size(u64);

/// A number of tokens, or as many as there is room for.
#[derive(Clone, Copy, Debug)]
enum Length {
    Auto,
    Tokens(NonZeroUsize),
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
        let unit = units.iter().find_map(|&(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
        let (number, shift) = unit.unwrap_or((text, 0));
        let wrong = || "give bytes, or a number with KiB, MiB, GiB or TiB".to_owned();
        let number: u64 = number.trim().parse().map_err(|_| wrong())?;
        number.checked_mul(1 << shift).map(Self).ok_or_else(wrong)
    }
}

impl FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            text => text
                .parse()
                .map(Self::Tokens)
                .map_err(|_| "give a number of tokens, or auto".to_owned()),
        }
    }
}

fn block_size(text: &str) -> Result<BlockSize, String> {
    let size = text.parse().ok().and_then(BlockSize::of);
    size.ok_or_else(|| "give a power of two, at most 512".to_owned())
}

pub(super) fn run(
    arguments: &Arguments,
    build: &BuildInfo,
    progress: &mut dyn Write,
) -> Result<(), CliError> {
    let report = |source| CliError::Stream { action: "report progress", source };
    let begun = Instant::now();
    // The address first: a port that is taken costs no loading.
    let server = Server::bind(&arguments.listen.host, arguments.listen.port)?;
    let checkpoint = Checkpoint::open(&arguments.model)?;
    let options =
        RunOptions { profile: arguments.profile, threads: arguments.threads, max_context: None };
    let session = Session::open(&checkpoint, &options)?;
    let loaded = begun.elapsed();
    let runner = session.runner()?;
    let limits = arguments.limits(runner.pieces())?;
    let budget = arguments.budget(&session, &runner)?;
    writeln!(progress, "plumb: kv cache: {budget}").map_err(report)?;
    let engine = Engine::new(runner, limits, &budget, session.end_ids(), session.model.pool());
    let settings = arguments.settings(build, &session, &limits, &budget);
    let name = settings.names[0].clone();
    let metrics = Arc::new(Metrics::new(name.clone()));
    let (handle, commands) = engine_handle();
    let template = session.find_template()?;
    let app = App::new(settings, handle, Arc::clone(&metrics), session.share_tokenizer(), template);
    let patience = Duration::from_secs_f64(arguments.schedule.queue_timeout.clamp(0.0, 1e9));
    let mut worker = Worker::new(engine, commands, metrics, patience);
    let address = server.address();
    let running = server.start(app, Duration::from_secs(arguments.listen.drain_timeout))?;
    let warming = Instant::now();
    worker.warm_up();
    let (warm, all) = (warming.elapsed(), begun.elapsed());
    writeln!(
        progress,
        "plumb: ready: http://{address} serves {name:?}; loaded in {:.2} s, warmed up in {:.2} s, {:.2} s in all",
        loaded.as_secs_f64(),
        warm.as_secs_f64(),
        all.as_secs_f64()
    )
    .and_then(|()| progress.flush())
    .map_err(report)?;
    worker.run();
    running.finish();
    writeln!(progress, "plumb: ended").map_err(report)
}

impl Arguments {
    fn limits(&self, pieces: Pieces) -> Result<Limits, CliError> {
        let max_sequences = self.schedule.max_num_seqs.get();
        let asked = self.schedule.max_num_batched_tokens.map(NonZeroUsize::get);
        let limits = Limits {
            max_sequences,
            step_tokens: asked.unwrap_or_else(|| max_sequences.saturating_add(STEP_PROMPT_TOKENS)),
            pieces,
            policy: match self.schedule.scheduling_policy {
                PolicyName::Fcfs => Policy::Fcfs,
                PolicyName::Priority => Policy::Priority,
            },
            max_waiting: self.schedule.max_waiting,
            reuse_prefixes: !self.cache.no_enable_prefix_caching,
        };
        match limits.fault(self.cache.block_size) {
            None => Ok(limits),
            Some(fault) => Err(CliError::Argument { name: "--max-num-batched-tokens", fault }),
        }
    }

    fn budget(
        &self,
        session: &Session<'_>,
        runner: &crate::runner::Runner<'_>,
    ) -> Result<Budget, CliError> {
        let trained = session.model.config().context_length;
        let (max_model_len, shorten) = match self.cache.max_model_len {
            Length::Auto => (trained, true),
            Length::Tokens(tokens) if tokens.get() <= trained => (tokens.get(), false),
            Length::Tokens(tokens) => {
                let fault = format!("{tokens} is more than the {trained} tokens of the model");
                return Err(CliError::Argument { name: "--max-model-len", fault });
            }
        };
        let sequences = self.schedule.max_num_seqs.get();
        let need = Need { max_model_len, shorten, sequences };
        let (shape, size) = (runner.kv_shape(), self.cache.block_size);
        let all = shape.bytes_for(size, need);
        let half = available_memory().map_or(all, |available| available / 2);
        let memory = self.cache.kv_cache_memory.map_or_else(|| all.min(half), |Size(bytes)| bytes);
        Ok(Budget::plan(shape, size, memory, need)?)
    }

    fn settings(
        &self,
        build: &BuildInfo,
        session: &Session<'_>,
        limits: &Limits,
        budget: &Budget,
    ) -> Settings {
        let path = self.model.display().to_string();
        let names = match self.listen.served_model_name.as_slice() {
            [] => vec![path.clone()],
            names => names.to_vec(),
        };
        let model = &session.model;
        let info = json!({
            "version": build.version,
            "commit": build.commit,
            "source_sha256": build.source_sha256,
            "model": path,
            "served_model_name": names,
            "architecture": model.config().family.name,
            "profile": model.profile().name(),
            "threads": model.pool().threads(),
            "isa": model.pool().tier().features(),
            "resident_bytes": model.residency().resident_bytes,
            "max_model_len": budget.max_model_len,
            "kv_cache": {
                "bytes": budget.bytes(),
                "blocks": budget.blocks,
                "block_size": budget.size.positions(),
                "dtype": budget.shape.format.name(),
                "token_bytes": budget.shape.token_bytes(),
                "prefix_caching": limits.reuse_prefixes,
            },
            "scheduler": {
                "max_num_seqs": limits.max_sequences,
                "max_num_batched_tokens": limits.step_tokens,
                "policy": format!("{:?}", limits.policy).to_lowercase(),
                "max_waiting": limits.max_waiting,
                "queue_timeout_s": self.schedule.queue_timeout,
                "prompt_piece": match limits.pieces {
                    Pieces::Any => None,
                    Pieces::Of(rows) => Some(rows),
                },
            },
            "max_logprobs": self.listen.max_logprobs,
            "max_body_bytes": self.listen.max_body.0,
            "max_concurrent_requests": self.listen.max_concurrent_requests,
        });
        Settings {
            names,
            path,
            version: build.version.to_owned(),
            max_model_len: budget.max_model_len,
            vocabulary: model.config().vocabulary,
            ends: session.end_ids(),
            policy: limits.policy,
            max_logprobs: self.listen.max_logprobs,
            max_body_bytes: self.listen.max_body.0 as usize,
            max_concurrent_requests: self.listen.max_concurrent_requests.get(),
            keys: Keys::new(&self.listen.api_key),
            info,
        }
    }
}
