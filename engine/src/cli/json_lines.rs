//! `plumb generate --json-lines`: one request a line in, one answer a line out, in the same order.

use std::io::BufRead;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::session::Session;
use super::{CliError, Streams};
use crate::chat_template::Message;
use crate::generation::{FinishReason, Generated, Generation};
use crate::runner::{RunError, Runner};
use crate::sampler::Sampling;

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
            CliError::Run(error) => error.into(),
            CliError::Template(_) | CliError::NoTemplate { .. } => {
                Self { code: "chat_template", message: error.to_string() }
            }
            error => Self { code: "tokenizer", message: error.to_string() },
        }
    }
}

/// Answers every line of the input; an error at the end if any was refused.
pub(super) fn run(session: &Session<'_>, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let mut runner = session.runner()?;
    let (mut failed, mut total) = (0, 0);
    for line in read_lines(streams.input) {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        total += 1;
        let answer = answer(session, &mut runner, &line).unwrap_or_else(|(id, refusal)| {
            failed += 1;
            json!({"id": id, "error": {"code": refusal.code, "message": refusal.message}})
                .to_string()
        });
        let written = writeln!(streams.output, "{answer}").and_then(|()| streams.output.flush());
        written.map_err(CliError::output)?;
    }
    if failed == 0 { Ok(()) } else { Err(CliError::Requests { failed, total }) }
}

fn read_lines(input: &mut dyn BufRead) -> impl Iterator<Item = Result<String, CliError>> {
    let read = |source| CliError::Stream { action: "read a request", source };
    input.lines().map(move |line| line.map_err(read))
}

/// The answer line, or the request's id and why there is none.
fn answer(
    session: &Session<'_>,
    runner: &mut Runner<'_>,
    line: &str,
) -> Result<String, (Value, Refusal)> {
    let request: Request = serde_json::from_str(line).map_err(|error| {
        let id =
            serde_json::from_str::<Value>(line).ok().and_then(|value| value.get("id").cloned());
        (id.unwrap_or(Value::Null), Refusal::invalid(error.to_string()))
    })?;
    let id = || Value::String(request.id.clone());
    respond(session, runner, &request).map_err(|refusal| (id(), refusal))
}

fn respond(
    session: &Session<'_>,
    runner: &mut Runner<'_>,
    request: &Request,
) -> Result<String, Refusal> {
    request.check()?;
    let prompt_ids = request.prompt_ids(session)?;
    let generation = Generation {
        prompt_ids: &prompt_ids,
        max_tokens: request.max_tokens,
        ignore_eos: request.ignore_eos,
        force_ids: request.force_ids.as_deref(),
        logprobs: request.logprobs,
        sampling: request.sampling,
    };
    runner.truncate(0);
    if let Some(forced) = request.force_ids.as_deref().filter(|forced| !forced.is_empty()) {
        runner.check(forced)?;
    }
    let ends = |id| session.ends(id);
    let generated = generation.run(runner, &ends, &mut |_| true)?;
    let answer = Answer {
        id: &request.id,
        prompt_ids: &prompt_ids,
        ids: &generated.ids,
        text: text(session, &generated)?,
        finish_reason: match generated.finish_reason {
            FinishReason::Length => "length",
            FinishReason::Stop => "stop",
        },
        steps: request.logprobs.map(|_| {
            let steps = generated.steps.iter();
            steps.map(|s| StepAnswer { id: s.id, logprob: s.logprob, top: &s.top }).collect()
        }),
    };
    serde_json::to_string(&answer).map_err(|error| Refusal::invalid(error.to_string()))
}

/// The text of an answer, without the token that ended it.
fn text(session: &Session<'_>, generated: &Generated) -> Result<Option<String>, Refusal> {
    let Some(tokenizer) = session.find_tokenizer() else { return Ok(None) };
    let ids = match generated.ids.split_last() {
        Some((last, rest))
            if generated.finish_reason == FinishReason::Stop && session.ends(*last) =>
        {
            rest
        }
        _ => &generated.ids,
    };
    Ok(Some(tokenizer.decode(ids, true).map_err(CliError::from)?))
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
