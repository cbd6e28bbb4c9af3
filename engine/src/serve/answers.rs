//! All choices of a request on their way to whoever asked.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::app::App;
use super::choice::{Choice, Delta};
use super::error::ApiError;
use super::fields::Fields;
use super::handle::{Message, Refusal, Submitted};
use super::sse::{Events, Gone};
use super::usage::Usage;
use crate::engine::Request;
use crate::generation::Step;

/// The choices, and the messages that they come by.
pub(super) struct Answers {
    app: Arc<App>,
    submitted: Submitted,
    pub(super) choices: Vec<Choice>,
    /// Choices of each prompt.
    each: usize,
}

/// A choice of a whole answer.
#[derive(Default)]
pub(super) struct Whole {
    pub(super) ids: Vec<u32>,
    pub(super) text: String,
    pub(super) steps: Vec<Step>,
    pub(super) prompt_steps: Vec<Step>,
    pub(super) finish: Value,
    pub(super) stop: Value,
}

impl Answers {
    /// Asks the engine, and waits until one of the choices has left the queue. `each` choices in a row are of one prompt.
    pub(super) async fn begin(
        app: &Arc<App>,
        fields: &Fields,
        requests: Vec<Request>,
        each: usize,
    ) -> Result<Self, ApiError> {
        let choices = requests.iter().map(|request| Choice::new(app, fields, request)).collect();
        let submitted = app.handle.submit(requests);
        let mut answers = Self { app: Arc::clone(app), submitted, choices, each };
        match answers.submitted.next().await {
            (_, Message::Refused(refusal)) => Err(answers.refused(refusal)),
            _ => Ok(answers),
        }
    }

    /// The next delta, and of which choice; none when all have ended.
    pub(super) async fn next(&mut self) -> Option<Result<(usize, Delta), ApiError>> {
        while self.submitted.open() > 0 {
            let (index, message) = self.submitted.next().await;
            let choice = &mut self.choices[index];
            match message {
                Message::Refused(refusal) => return Some(Err(self.refused(refusal))),
                Message::Token(token) if choice.finish.is_none() => {
                    let ended = token.ended.is_some();
                    let delta = choice.take(&self.app, token);
                    match (&delta.finish, ended) {
                        (Some(_), true) => self.submitted.ended(index),
                        (Some(_), false) => self.submitted.cancel(index),
                        (None, _) => {}
                    }
                    if let Some(finish) = &delta.finish {
                        self.app.metrics.told(finish.reason);
                    }
                    return Some(Ok((index, delta)));
                }
                // Started, or a token that was on its way when a stop string was found.
                Message::Started | Message::Token(_) => {}
            }
        }
        None
    }

    /// All choices, when each has ended.
    pub(super) async fn wholes(&mut self) -> Result<Vec<Whole>, ApiError> {
        let mut wholes: Vec<Whole> = self.choices.iter().map(|_| Whole::default()).collect();
        while let Some(next) = self.next().await {
            let (index, delta) = next?;
            wholes[index].add(delta);
        }
        Ok(wholes)
    }

    /// Sends an event a delta, with `chunk` around the choices that `choice` makes of it, and the usage where the request
    /// wants it; then the last event.
    pub(super) async fn follow(
        &mut self,
        fields: &Fields,
        events: &Events,
        chunk: impl Fn(&Value) -> Value,
        mut choice: impl FnMut(usize, Delta) -> Result<Value, ApiError>,
    ) -> Result<(), Gone> {
        let (usage_at_end, usage_always) = fields.streamed_usage();
        loop {
            let next = tokio::select! {
                next = self.next() => next,
                () = events.gone() => return Err(Gone),
            };
            let Some(next) = next else { break };
            let made = next.and_then(|(index, delta)| Ok((index, choice(index, delta)?)));
            let (index, choice) = match made {
                Ok(made) => made,
                Err(error) => {
                    events.send(&error.body()).await?;
                    return events.done().await;
                }
            };
            let mut chunk = chunk(&json!([choice]));
            if usage_always {
                chunk["usage"] = self.usage_of(index).brief();
            }
            events.send(&chunk).await?;
        }
        if usage_at_end {
            let mut chunk = chunk(&json!([]));
            chunk["usage"] = self.usage().brief();
            events.send(&chunk).await?;
        }
        events.done().await
    }

    /// Tokens of all prompts and choices so far.
    pub(super) fn usage(&self) -> Usage {
        let prompts = self.choices.iter().step_by(self.each);
        Usage {
            prompt: prompts.map(|choice| choice.prompt_ids.len()).sum(),
            completion: self.choices.iter().map(|choice| choice.tokens).sum(),
        }
    }

    /// Tokens of one choice so far.
    pub(super) fn usage_of(&self, index: usize) -> Usage {
        let choice = &self.choices[index];
        Usage { prompt: choice.prompt_ids.len(), completion: choice.tokens }
    }

    fn refused(&mut self, refusal: Refusal) -> ApiError {
        (0..self.choices.len()).for_each(|choice| self.submitted.cancel(choice));
        let (status, message) = match refusal {
            Refusal::Invalid(message) => (StatusCode::BAD_REQUEST, message),
            Refusal::Full(message) => (StatusCode::TOO_MANY_REQUESTS, message),
            Refusal::Late(message) => (StatusCode::SERVICE_UNAVAILABLE, message),
            Refusal::Ending => {
                (StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down".to_owned())
            }
        };
        self.app.metrics.told("error");
        ApiError::new(status, message)
    }
}

impl Whole {
    fn add(&mut self, delta: Delta) {
        self.ids.extend(delta.id);
        self.text.push_str(&delta.text);
        self.steps.extend(delta.step);
        self.prompt_steps.extend(delta.prompt_steps);
        if let Some(finish) = delta.finish {
            (self.finish, self.stop) = (json!(finish.reason), finish.stop);
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        for _ in 0..self.submitted.open() {
            self.app.metrics.told("abort");
        }
    }
}
