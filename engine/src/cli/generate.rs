//! `plumb generate`: text for a person, or answers to requests on stdin.

use std::io::Write;
use std::num::NonZeroUsize;

use clap::Args;

use super::options::{ModelOptions, SamplingOptions};
use super::session::Session;
use super::{CliError, Streams, json_lines};
use crate::checkpoint::Checkpoint;
use crate::engine::{Event, Request};
use crate::generation::{FinishReason, Generation};
use crate::tokenizer::{Detokenizer, Tokenizer};

/// Generate text.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    model: ModelOptions,
    /// Answer requests on stdin, one JSON object a line
    #[arg(long, conflicts_with_all = ["prompt", "max_tokens", "ignore_eos", "SamplingOptions"])]
    json_lines: bool,
    /// Requests that are computed together; each is answered as if alone
    #[arg(long, value_name = "N", requires = "json_lines", default_value = "32")]
    max_sequences: NonZeroUsize,
    /// The text to continue
    #[arg(long, required_unless_present = "json_lines")]
    prompt: Option<String>,
    /// The most tokens to generate
    #[arg(long, default_value_t = 64)]
    max_tokens: usize,
    /// Go on after an end-of-generation token
    #[arg(long)]
    ignore_eos: bool,
    #[command(flatten)]
    sampling: SamplingOptions,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let checkpoint = Checkpoint::open(&arguments.model.model)?;
    let session = Session::open(&checkpoint, &arguments.model.run)?;
    match &arguments.prompt {
        Some(prompt) if !arguments.json_lines => person(arguments, &session, prompt, streams),
        _ => json_lines::run(&session, arguments.max_sequences, streams),
    }
}

/// Streams the continuation of a prompt.
fn person(
    arguments: &Arguments,
    session: &Session<'_>,
    prompt: &str,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let tokenizer = session.tokenizer()?;
    let generation = Generation {
        prompt_ids: tokenizer.encode(prompt, true, true)?,
        max_tokens: arguments.max_tokens,
        ignore_eos: arguments.ignore_eos,
        sampling: arguments.sampling.sampling()?,
        ..Generation::default()
    };
    let mut printer = Printer::new(tokenizer, streams.output);
    let mut engine = session.engine(1)?;
    let id = engine.submit(Request { generation, ..Request::default() })?;
    while !engine.is_idle() {
        for event in engine.step() {
            let Event::Token { token, .. } = event else { continue };
            let ended_it = token.ended == Some(FinishReason::Stop);
            if token.id.is_some_and(|id| !ended_it && !printer.print(id)) {
                engine.cancel(id);
            }
        }
    }
    printer.finish()?;
    writeln!(streams.output).map_err(CliError::output)
}

/// Writes tokens as text, as soon as their characters are whole.
pub(super) struct Printer<'p> {
    detokenizer: Detokenizer<&'p Tokenizer>,
    output: &'p mut dyn Write,
    failure: Option<CliError>,
}

impl<'p> Printer<'p> {
    /// Writes to `output`.
    pub(super) fn new(tokenizer: &'p Tokenizer, output: &'p mut dyn Write) -> Self {
        Self { detokenizer: Detokenizer::new(tokenizer, true), output, failure: None }
    }

    /// Writes what `id` completes; false if that failed.
    pub(super) fn print(&mut self, id: u32) -> bool {
        let text = self.detokenizer.push(id).map_err(CliError::from);
        self.failure = text.and_then(|text| write_now(self.output, &text)).err();
        self.failure.is_none()
    }

    /// Writes what is left; the first failure, if there was one.
    pub(super) fn finish(self) -> Result<(), CliError> {
        match self.failure {
            Some(failure) => Err(failure),
            None => write_now(self.output, &self.detokenizer.finish()),
        }
    }
}

fn write_now(output: &mut dyn Write, text: &str) -> Result<(), CliError> {
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(CliError::output)
}
