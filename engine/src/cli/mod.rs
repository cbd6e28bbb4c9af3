//! The verbs of `plumb`. Data goes to stdout, progress to stderr.

mod chat;
mod dump;
mod error;
mod generate;
mod info;
mod json_lines;
mod lines;
mod op;
mod options;
mod serve;
mod session;
mod tensors;
mod tokenize;

use std::io::{BufRead, Write};

use clap::{Parser, Subcommand};

pub use error::CliError;
pub use info::BuildInfo;

/// The Plumbline inference engine.
#[derive(Debug, Parser)]
#[command(name = "plumb", version, about, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Tell what this binary is, and what it makes of a model
    Info(info::Arguments),
    /// Generate text, or answer requests on stdin one a line
    Generate(generate::Arguments),
    /// Talk with a model
    Chat(chat::Arguments),
    /// Serve a model over HTTP: OpenAI's interface, as vLLM speaks it
    Serve(Box<serve::Arguments>),
    /// Turn text into token ids and back
    Tokenize(tokenize::Arguments),
    /// Write intermediate values of a forward pass to a safetensors file
    Dump(dump::Arguments),
    /// Compute one operation of a numerics profile on the tensors of a safetensors file
    Op(op::Arguments),
    /// Tell what a checkpoint's headers say
    Inspect(crate::inspect::Arguments),
}

/// The streams that a verb may use.
pub struct Streams<'s> {
    /// Where requests come from.
    pub input: Box<dyn BufRead + Send>,
    /// Where data goes.
    pub output: &'s mut dyn Write,
    /// Where progress goes.
    pub progress: &'s mut dyn Write,
}

impl Streams<'_> {
    /// Writes out what is still buffered.
    pub fn flush(&mut self) -> Result<(), CliError> {
        self.output.flush().map_err(CliError::output)
    }
}

impl Cli {
    /// Runs the verb.
    pub fn run(&self, build: &BuildInfo, streams: &mut Streams<'_>) -> Result<(), CliError> {
        match &self.command {
            Command::Info(arguments) => info::run(arguments, build, streams.output),
            Command::Generate(arguments) => generate::run(arguments, streams),
            Command::Chat(arguments) => chat::run(arguments, streams),
            Command::Serve(arguments) => serve::run(arguments, build, streams.progress),
            Command::Tokenize(arguments) => tokenize::run(arguments, streams),
            Command::Dump(arguments) => dump::run(arguments, streams),
            Command::Op(arguments) => op::run(arguments, streams),
            Command::Inspect(arguments) => Ok(crate::inspect::run(arguments, streams.output)?),
        }
    }
}
