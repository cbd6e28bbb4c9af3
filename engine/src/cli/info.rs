//! `plumb info`: what this binary is, how it was built, and what it makes of a model.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use kernels::{Format, Tier};
use serde::Serialize;

use super::CliError;
use super::options::RunOptions;
use super::session::Session;
use crate::checkpoint::Checkpoint;

/// Tell what this binary is.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// A model to load
    model: Option<PathBuf>,
    #[command(flatten)]
    run: RunOptions,
    /// Print one JSON object on one line
    #[arg(long)]
    json: bool,
}

/// What the build knew.
#[derive(Clone, Copy, Debug)]
pub struct BuildInfo {
    /// The version of the package.
    pub version: &'static str,
    /// The commit, where it was built from a repository.
    pub commit: Option<&'static str>,
    /// The digest of the sources that decide what it computes.
    pub source_sha256: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Report {
    name: &'static str,
    version: &'static str,
    commit: Option<&'static str>,
    source_sha256: Option<&'static str>,
    isa: &'static [&'static str],
    profile: Option<&'static str>,
    threads: usize,
    kernels: BTreeMap<String, &'static str>,
    model: Option<ModelReport>,
}

#[derive(Debug, Serialize)]
struct ModelReport {
    architecture: &'static str,
    parameters: u64,
    tensors: usize,
    resident_bytes: u64,
    file_bytes: u64,
    tensor_bytes: u64,
    vocabulary: usize,
    context_length: usize,
    layers: usize,
    hidden: usize,
    tokenizer: Option<String>,
    tied_head: bool,
}

pub(super) fn run(
    arguments: &Arguments,
    build: &BuildInfo,
    output: &mut dyn Write,
) -> Result<(), CliError> {
    let report = match &arguments.model {
        None => Report::of_build(build, arguments)?,
        Some(path) => Report::of_model(build, arguments, &Checkpoint::open(path)?)?,
    };
    let text = if arguments.json {
        serde_json::to_string(&report)
    } else {
        serde_json::to_string_pretty(&report)
    };
    let text = text.map_err(|error| CliError::output(error.into()))?;
    writeln!(output, "{text}").map_err(CliError::output)
}

impl Report {
    fn of_build(build: &BuildInfo, arguments: &Arguments) -> Result<Self, CliError> {
        let pool = arguments.run.pool()?;
        Ok(Self {
            name: "plumb",
            version: build.version,
            commit: build.commit,
            source_sha256: build.source_sha256,
            isa: pool.tier().features(),
            profile: arguments.run.profile.map(crate::numerics::Profile::name),
            threads: pool.threads(),
            kernels: kernels(Format::ALL, pool.tier()),
            model: None,
        })
    }

    fn of_model(
        build: &BuildInfo,
        arguments: &Arguments,
        checkpoint: &Checkpoint,
    ) -> Result<Self, CliError> {
        let session = Session::open(checkpoint, &arguments.run)?;
        let model = &session.model;
        let residency = model.residency();
        Ok(Self {
            profile: Some(model.profile().name()),
            kernels: kernels(checkpoint.tensors().map(|t| t.format), model.pool().tier()),
            model: Some(ModelReport {
                architecture: model.config().family.name,
                parameters: checkpoint.parameters(),
                tensors: residency.tensors,
                resident_bytes: residency.resident_bytes,
                file_bytes: checkpoint.file_bytes(),
                tensor_bytes: checkpoint.tensor_bytes(),
                vocabulary: model.config().vocabulary,
                context_length: model.config().context_length,
                layers: model.config().layers,
                hidden: model.config().hidden,
                tokenizer: tokenizer_name(checkpoint, &session)?,
                tied_head: model.config().tied_head,
            }),
            ..Self::of_build(build, arguments)?
        })
    }
}

/// The kernel of each format, under the format's name in lower case.
fn kernels(
    formats: impl IntoIterator<Item = Format>,
    tier: Tier,
) -> BTreeMap<String, &'static str> {
    formats
        .into_iter()
        .map(|format| (format.name().to_lowercase(), kernels::dot::kernel_name(format, tier)))
        .collect()
}

/// The kind of tokenizer, as the checkpoint names it.
fn tokenizer_name(
    checkpoint: &Checkpoint,
    session: &Session<'_>,
) -> Result<Option<String>, CliError> {
    if session.find_tokenizer().is_none() {
        return Ok(None);
    }
    Ok(Some(match checkpoint {
        Checkpoint::Gguf(file) => file.metadata().str("tokenizer.ggml.model")?.to_owned(),
        Checkpoint::Safetensors(_) => "tokenizer.json".to_owned(),
    }))
}
