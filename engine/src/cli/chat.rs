//! `plumb chat`: a conversation in the terminal.
//!
//! Ctrl-C stops the answer, Ctrl-D leaves. What the model has read is kept: a turn runs only the tokens that
//! are new.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use signal_hook::consts::SIGINT;

use super::generate::Printer;
use super::options::{ModelOptions, SamplingOptions};
use super::session::Session;
use super::{CliError, Streams};
use crate::chat_template::Message;
use crate::checkpoint::Checkpoint;
use crate::generation::{EndIds, Generation};
use crate::runner::{Runner, Sequence};
use crate::sampler::Sampling;

/// Talk with a model.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    model: ModelOptions,
    /// What the model is told before the conversation
    #[arg(long)]
    system: Option<String>,
    /// The most tokens of an answer
    #[arg(long, default_value_t = 512)]
    max_tokens: usize,
    #[command(flatten)]
    sampling: SamplingOptions,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let checkpoint = Checkpoint::open(&arguments.model.model)?;
    let session = Session::open(&checkpoint, &arguments.model.run)?;
    session.template()?;
    let runner = session.runner()?;
    let mut conversation = Conversation {
        messages: arguments
            .system
            .iter()
            .map(|text| Message::text("system", text.as_str()))
            .collect(),
        sequence: runner.sequence(),
        runner,
        seen: Vec::new(),
        ends: session.end_ids(),
        session: &session,
        sampling: arguments.sampling.sampling()?,
        max_tokens: arguments.max_tokens,
        interrupted: catch_interrupts()?,
    };
    prompt(streams)?;
    while let Some(text) = read_line(streams.input.as_mut())? {
        if !text.trim().is_empty() {
            conversation.turn(text.trim(), streams.output)?;
        }
        prompt(streams)?;
    }
    writeln!(streams.output).map_err(CliError::output)
}

struct Conversation<'s> {
    session: &'s Session<'s>,
    messages: Vec<Message>,
    runner: Runner<'s>,
    sequence: Sequence,
    /// The ids that the sequence has run.
    seen: Vec<u32>,
    ends: EndIds,
    sampling: Sampling,
    max_tokens: usize,
    interrupted: Arc<AtomicBool>,
}

impl Conversation<'_> {
    /// One question and its answer, streamed to `output`.
    fn turn(&mut self, text: &str, output: &mut dyn Write) -> Result<(), CliError> {
        self.messages.push(Message::text("user", text));
        let ids = self.session.render(&self.messages)?;
        // The last id runs again even when all are known: its logits are what the answer starts from.
        let same = self.seen.iter().zip(&ids).take_while(|(a, b)| a == b).count();
        let kept = same.min(ids.len().saturating_sub(1));
        self.sequence.truncate(kept);
        let room = self.runner.max_context().saturating_sub(ids.len());
        let generation = Generation {
            prompt_ids: ids[kept..].to_vec(),
            max_tokens: self.max_tokens.min(room),
            sampling: self.sampling,
            ..Generation::default()
        };
        self.interrupted.store(false, Ordering::Relaxed);
        let tokenizer = self.session.tokenizer()?;
        let mut printer = Printer::new(tokenizer, output);
        let interrupted = &self.interrupted;
        let mut goes_on = |id| printer.print(id) && !interrupted.load(Ordering::Relaxed);
        let (runner, sequence) = (&mut self.runner, &mut self.sequence);
        let generated = generation.run(runner, sequence, &self.ends, &mut goes_on)?;
        printer.finish()?;
        writeln!(output).map_err(CliError::output)?;
        let answer = match generated.ids.split_last() {
            Some((last, rest)) if self.ends.contains(*last) => rest,
            _ => &generated.ids,
        };
        self.messages.push(Message::text("assistant", tokenizer.decode_generated(answer, true)?));
        self.seen = ids;
        self.seen.extend(&generated.ids);
        self.seen.truncate(self.sequence.positions());
        Ok(())
    }
}

/// A flag that Ctrl-C raises. Any other signal to end the process does so.
fn catch_interrupts() -> Result<Arc<AtomicBool>, CliError> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    signal_hook::flag::register(SIGINT, flag).map_err(CliError::Interrupt)?;
    Ok(interrupted)
}

fn prompt(streams: &mut Streams<'_>) -> Result<(), CliError> {
    let shown = write!(streams.progress, "> ").and_then(|()| streams.progress.flush());
    shown.map_err(|source| CliError::Stream { action: "ask for input", source })
}

/// A line of input; none at its end.
fn read_line(input: &mut dyn BufRead) -> Result<Option<String>, CliError> {
    let mut line = String::new();
    let read = input.read_line(&mut line);
    let read = read.map_err(|source| CliError::Stream { action: "read a line", source })?;
    Ok((read > 0).then_some(line))
}
