//! `plumb generate --json-lines`: one request a line in, one answer a line out, in the same order.
//!
//! An `id` is echoed as it is: any text, empty or not. It means something to whoever asks, and nothing here.

use std::collections::{BTreeMap, HashMap};
use std::io::{ErrorKind, Write};
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::lines::Line;
use super::session::Session;
use super::{CliError, Streams, lines};
use crate::chat_template::Message;
use crate::engine::{self, Engine, Event, SubmitError};
use crate::generation::{EndIds, FinishReason, Generated, Generation};
use crate::runner::RunError;
use crate::sampler::Sampling;
use crate::scheduler::RequestId;

/// Requests that are taken before those at work advance.
const ADMITTED_AT_ONCE: usize = 8;

/// The most log probabilities a step can carry.
const MOST_LOGPROBS: usize = 100;

/// One line of stdin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    id: String,
    prompt: Option<String>,
    prompt_ids: Option<Vec<u32>>,
    messages: Option<Vec<Message>>,
    #[serde(default = "yes")]
    add_special: bool,
    #[serde(default = "default_max_tokens")]
    max_tokens: usize,
    #[serde(default)]
    ignore_eos: bool,
    logprobs: Option<usize>,
    force_ids: Option<Vec<u32>>,
    #[serde(default)]
    sampling: Sampling,
}

fn yes() -> bool {
    true
}

fn default_max_tokens() -> usize {
    64
}

/// One line of stdout.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    id: &'a str,
    prompt_ids: &'a [u32],
    ids: &'a [u32],
    /// Null where the model has no tokenizer.
    text: Option<String>,
    finish_reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepAnswer<'a>>>,
}

#[derive(Debug, Serialize)]
struct StepAnswer<'a> {
    id: u32,
    logprob: f32,
    top: &'a [(u32, f32)],
}

/// Why a request was not answered.
struct Refusal {
    code: &'static str,
    message: String,
}

impl Refusal {
    fn invalid(message: impl Into<String>) -> Self {
        Self { code: "invalid_request", message: message.into() }
    }
}

impl From<RunError> for Refusal {
    fn from(error: RunError) -> Self {
        let code = match error {
            RunError::Empty => "empty_prompt",
            RunError::UnknownToken { .. } => "unknown_token",
            RunError::ContextOverflow { .. } => "context_overflow",
        };
        Self { code, message: error.to_string() }
    }
}

impl From<CliError> for Refusal {
    fn from(error: CliError) -> Self {
        match error {
            CliError::Run(error) | CliError::Submit(SubmitError::Run(error)) => error.into(),
            CliError::Template(_) | CliError::NoTemplate { .. } => {
                Self { code: "chat_template", message: error.to_string() }
            }
            error => Self { code: "tokenizer", message: error.to_string() },
        }
    }
}

/// Answers every line of the input; an error at the end if any was refused.
///
/// Up to `max_sequences` requests are computed together, in one batch that requests join as they come and leave as they end.
/// An answer is written once those before it are. At the end `streams.progress` hears how they were computed, so that who asked
/// for a number of threads or of sequences can see that it was heeded.
pub(super) fn run(
    session: &Session<'_>,
    max_sequences: NonZeroUsize,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let input = std::mem::replace(&mut streams.input, Box::new(std::io::empty()));
    let requests = lines::in_background(input);
    let engine = session.engine(max_sequences.get())?;
    let mut server = Server { session, engine, ends: session.end_ids(), active: HashMap::new() };
    let mut answers = InOrder::new(streams.output);
    let (mut total, mut most) = (0, 0);
    loop {
        let mut admitted = 0;
        while server.active.len() < max_sequences.get() && admitted < ADMITTED_AT_ONCE {
            // With work at hand nobody waits for more.
            let request = if server.active.is_empty() {
                requests.recv().ok()
            } else {
                requests.try_recv().ok()
            };
            let Some(line) = request else { break };
            server.admit(total, line.map_err(CliError::input)?, &mut answers)?;
            total += 1;
            admitted += 1;
        }
        // Requests that were refused leave nothing to step; only the end of the input brings no others.
        most = most.max(server.active.len());
        match (server.active.is_empty(), admitted) {
            (true, 0) => break,
            (true, _) => {}
            (false, _) => server.step(&mut answers)?,
        }
    }
    let failed = answers.failed;
    let threads = session.model.pool().threads();
    writeln!(
        streams.progress,
        "answered {total} requests, at most {most} together, on {threads} threads"
    )
    .map_err(|source| CliError::Stream { action: "report progress", source })?;
    if failed == 0 { Ok(()) } else { Err(CliError::Requests { failed, total }) }
}

/// The requests that are computed together.
struct Server<'s> {
    session: &'s Session<'s>,
    engine: Engine<'s>,
    ends: EndIds,
    active: HashMap<RequestId, Active>,
}

/// A request that is being answered.
struct Active {
    /// Its place among the requests.
    index: usize,
    id: String,
    reports_steps: bool,
}

impl Server<'_> {
    /// Gives a request to the engine, unless it is refused.
    fn admit(
        &mut self,
        index: usize,
        line: Line,
        answers: &mut InOrder<'_>,
    ) -> Result<(), CliError> {
        match line {
            Ok(line) => match self.start(index, &line) {
                Ok(()) => Ok(()),
                Err(refusal) => answers.refuse(index, &lines::id_of(&line), &refusal),
            },
            Err(error) => answers.refuse(index, &Value::Null, &Refusal::invalid(error.to_string())),
        }
    }

    fn start(&mut self, index: usize, line: &str) -> Result<(), Refusal> {
        let request: Request =
            lines::request(line).map_err(|error| Refusal::invalid(error.to_string()))?;
        request.check()?;
        let generation = Generation {
            prompt_ids: request.prompt_ids(self.session)?,
            max_tokens: request.max_tokens,
            ignore_eos: request.ignore_eos,
            force_ids: request.force_ids,
            logprobs: request.logprobs,
            sampling: request.sampling,
            ..Generation::default()
        };
        let reports_steps = generation.logprobs.is_some();
        let asked = engine::Request { generation, ..engine::Request::default() };
        let id = self.engine.submit(asked).map_err(CliError::from)?;
        self.active.insert(id, Active { index, id: request.id, reports_steps });
        Ok(())
    }

    /// Runs a step, and answers the requests that have ended.
    fn step(&mut self, answers: &mut InOrder<'_>) -> Result<(), CliError> {
        for event in self.engine.step() {
            let Event::Ended { id, prompt_ids, generated } = event else { continue };
            let Some(active) = self.active.remove(&id) else { continue };
            match self.answer(&active, &prompt_ids, &generated) {
                Ok(line) => answers.put(active.index, line)?,
                Err(refusal) => {
                    answers.refuse(active.index, &Value::String(active.id), &refusal)?;
                }
            }
        }
        Ok(())
    }

    /// The line that answers a request.
    fn answer(
        &self,
        active: &Active,
        prompt_ids: &[u32],
        generated: &Generated,
    ) -> Result<String, Refusal> {
        let answer = Answer {
            id: &active.id,
            prompt_ids,
            ids: &generated.ids,
            text: self.text(generated)?,
            finish_reason: match generated.finish_reason {
                FinishReason::Length => "length",
                FinishReason::Stop => "stop",
            },
            steps: active.reports_steps.then(|| {
                let steps = generated.steps.iter();
                steps.map(|s| StepAnswer { id: s.id, logprob: s.logprob, top: &s.top }).collect()
            }),
        };
        serde_json::to_string(&answer).map_err(|error| Refusal::invalid(error.to_string()))
    }

    /// The text of an answer, without the token that ended it.
    fn text(&self, generated: &Generated) -> Result<Option<String>, Refusal> {
        let Some(tokenizer) = self.session.find_tokenizer() else { return Ok(None) };
        let ids = match generated.ids.split_last() {
            Some((last, rest))
                if generated.finish_reason == FinishReason::Stop && self.ends.contains(*last) =>
            {
                rest
            }
            _ => &generated.ids,
        };
        Ok(Some(tokenizer.decode_generated(ids, true).map_err(CliError::from)?))
    }
}

/// Answers on their way out, each behind those of the requests before it.
struct InOrder<'o> {
    output: &'o mut dyn Write,
    waiting: BTreeMap<usize, String>,
    written: usize,
    failed: usize,
}

impl<'o> InOrder<'o> {
    fn new(output: &'o mut dyn Write) -> Self {
        Self { output, waiting: BTreeMap::new(), written: 0, failed: 0 }
    }

    fn put(&mut self, index: usize, line: String) -> Result<(), CliError> {
        self.waiting.insert(index, line);
        while let Some(line) = self.waiting.remove(&self.written) {
            let written = writeln!(self.output, "{line}").and_then(|()| self.output.flush());
            // A person who closes a pipe has seen enough; of requests each is owed its answer.
            written.map_err(|error| match error.kind() {
                ErrorKind::BrokenPipe => CliError::Unread { written: self.written },
                _ => CliError::output(error),
            })?;
            self.written += 1;
        }
        Ok(())
    }

    fn refuse(&mut self, index: usize, id: &Value, refusal: &Refusal) -> Result<(), CliError> {
        self.failed += 1;
        let error = json!({"code": refusal.code, "message": refusal.message});
        self.put(index, json!({"id": id, "error": error}).to_string())
    }
}

impl Request {
    fn check(&self) -> Result<(), Refusal> {
        if let Some(fault) = self.sampling.fault() {
            return Err(Refusal::invalid(format!("sampling: {fault}")));
        }
        if self.logprobs.is_some_and(|count| count > MOST_LOGPROBS) {
            return Err(Refusal::invalid(format!("logprobs is more than {MOST_LOGPROBS}")));
        }
        Ok(())
    }

    fn prompt_ids(&self, session: &Session<'_>) -> Result<Vec<u32>, Refusal> {
        match (&self.prompt, &self.prompt_ids, &self.messages) {
            (None, Some(ids), None) => Ok(ids.clone()),
            (None, None, Some(messages)) => Ok(session.render(messages)?),
            (Some(text), None, None) => {
                let encoded = session.tokenizer()?.encode(text, self.add_special, true);
                Ok(encoded.map_err(CliError::from)?)
            }
            _ => Err(Refusal::invalid("give exactly one of prompt, prompt_ids and messages")),
        }
    }
}
