//! `/v1/completions`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answers::{Answers, Whole};
use super::app::{App, Stamp};
use super::body::Body;
use super::choice::Delta;
use super::error::ApiError;
use super::fields::Fields;
use super::logprobs::{self, Naming};
use super::prompt::{Prompt, prompts};
use super::sse::{self, Events, Gone};

/// OpenAI's, and vLLM's.
const DEFAULT_MAX_TOKENS: usize = 16;

/// The fields that only completions have.
#[derive(Debug, Deserialize)]
struct OwnFields {
    max_tokens: Option<usize>,
    echo: Option<bool>,
    logprobs: Option<usize>,
    prompt_logprobs: Option<usize>,
    add_special_tokens: Option<bool>,
}

/// A request that makes sense.
struct Asked {
    fields: Fields,
    own: OwnFields,
    prompts: Vec<Prompt>,
    stamp: Stamp,
}

pub(super) async fn answer(
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Response, ApiError> {
    let stamp_id = Stamp::asked(&request);
    let mut body = Body::read(request, app.settings.max_body_bytes).await?;
    let fields = Fields::read(&mut body, &app.settings)?;
    let own: OwnFields = body.fields()?;
    let streams = fields.stream.unwrap_or(false);
    own.check(&app, streams)?;
    let prompt = body.take("prompt").cloned();
    let prompts = prompts(&app, prompt.as_ref(), own.add_special_tokens.unwrap_or(true))?;
    app.warn_unread(body.unread());
    let stamp = Stamp::new("cmpl", stamp_id.or_else(|| fields.request_id.clone()));
    let asked = Asked { fields, own, prompts, stamp };
    let requests = asked.requests(&app)?;
    let each = asked.fields.choices();
    let answers = Answers::begin(&app, &asked.fields, requests, each).await?;
    if !streams {
        return asked.whole(&app, answers).await;
    }
    let (events, response) = sse::stream();
    tokio::spawn(async move {
        // Whether the client stayed to the end is its own affair; its choices are cancelled with `answers`.
        let _ = asked.stream(&app, answers, &events).await;
    });
    Ok(response)
}

impl OwnFields {
    fn check(&self, app: &App, streams: bool) -> Result<(), ApiError> {
        let most = app.settings.max_logprobs;
        for (name, value) in
            [("logprobs", self.logprobs), ("prompt_logprobs", self.prompt_logprobs)]
        {
            if value.is_some_and(|value| value > most) {
                return Err(ApiError::field(name, format!("{name} is more than {most}")));
            }
        }
        if streams && self.prompt_logprobs.is_some() {
            let message = "prompt_logprobs are not available with stream";
            return Err(ApiError::field("prompt_logprobs", message));
        }
        Ok(())
    }

    fn echoes(&self) -> bool {
        self.echo.unwrap_or(false)
    }
}

impl Asked {
    /// A request to the engine for each choice of each prompt.
    fn requests(&self, app: &App) -> Result<Vec<crate::engine::Request>, ApiError> {
        let max_tokens = self.own.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
        if max_tokens == 0 && !self.own.echoes() {
            return Err(ApiError::field("max_tokens", "max_tokens must be at least 1"));
        }
        let prompt_logprobs =
            self.own.prompt_logprobs.or(self.own.logprobs.filter(|_| self.own.echoes()));
        let mut requests = Vec::new();
        for prompt in &self.prompts {
            for choice in 0..self.fields.choices() {
                let ids = prompt.ids.clone();
                let mut request = self.fields.request(ids, max_tokens, choice, &app.settings)?;
                request.generation.logprobs = self.own.logprobs;
                request.generation.prompt_logprobs = prompt_logprobs;
                requests.push(request);
            }
        }
        Ok(requests)
    }

    /// The text before an answer that echoes its prompt.
    fn echo(&self, app: &App, choice: usize) -> Result<String, ApiError> {
        let prompt = &self.prompts[choice / self.fields.choices()];
        match &prompt.text {
            // Whoever gets ids does not need them as text too.
            _ if self.fields.returns_ids() => Ok(String::new()),
            Some(text) => Ok(text.clone()),
            None => app.decode(&prompt.ids),
        }
    }

    async fn whole(&self, app: &App, mut answers: Answers) -> Result<Response, ApiError> {
        let mut choices = Vec::new();
        for (index, whole) in answers.wholes().await?.into_iter().enumerate() {
            choices.push(self.whole_choice(app, index, whole)?);
        }
        Ok(Json(json!({
            "id": self.stamp.id,
            "object": "text_completion",
            "created": self.stamp.created,
            "model": app.settings.names[0],
            "choices": choices,
            "service_tier": null,
            "system_fingerprint": null,
            "usage": answers.usage().full(),
        }))
        .into_response())
    }

    fn whole_choice(&self, app: &App, index: usize, whole: Whole) -> Result<Value, ApiError> {
        let prompt_ids = &self.prompts[index / self.fields.choices()].ids;
        let naming = Naming { app, by_id: self.fields.names_by_id() };
        let echoed = self.own.echoes();
        let text = if echoed { self.echo(app, index)? + &whole.text } else { whole.text };
        let logprobs = self.own.logprobs.map(|top| {
            let prompt = prompt_ids
                .iter()
                .copied()
                .zip(std::iter::once(None).chain(whole.prompt_steps.iter().map(Some)));
            let answer = whole.ids.iter().copied().zip(whole.steps.iter().map(Some));
            let tokens: Vec<_> = prompt.filter(|_| echoed).chain(answer).collect();
            logprobs::completion(naming, &tokens, top, 0)
        });
        let prompt_logprobs =
            self.own.prompt_logprobs.map(|_| logprobs::prompt(naming, &whole.prompt_steps));
        let ids = self.fields.returns_ids();
        Ok(json!({
            "index": index,
            "text": text,
            "logprobs": logprobs,
            "finish_reason": whole.finish,
            "stop_reason": whole.stop,
            "token_ids": ids.then_some(whole.ids),
            "prompt_logprobs": prompt_logprobs,
            "prompt_token_ids": ids.then_some(prompt_ids),
        }))
    }

    async fn stream(&self, app: &App, mut answers: Answers, events: &Events) -> Result<(), Gone> {
        let mut lengths: Vec<Option<usize>> = vec![None; answers.choices.len()];
        let choice =
            |index: usize, delta| self.streamed_choice(app, index, delta, &mut lengths[index]);
        answers.follow(&self.fields, events, |choices| self.chunk(app, choices), choice).await
    }

    fn chunk(&self, app: &App, choices: &Value) -> Value {
        json!({
            "id": self.stamp.id,
            "object": "text_completion",
            "created": self.stamp.created,
            "model": app.settings.names[0],
            "choices": choices,
        })
    }

    /// A choice of a chunk. `length` is the number of characters before, none before the first.
    fn streamed_choice(
        &self,
        app: &App,
        index: usize,
        delta: Delta,
        length: &mut Option<usize>,
    ) -> Result<Value, ApiError> {
        let Delta { id, text, step, prompt_steps, finish } = delta;
        let first = length.is_none();
        let before = length.unwrap_or(0);
        *length = Some(before + text.chars().count());
        let echoes = first && self.own.echoes();
        let prompt_ids = &self.prompts[index / self.fields.choices()].ids;
        let text = if echoes { self.echo(app, index)? + &text } else { text };
        let logprobs = self.own.logprobs.map(|top| {
            let steps = std::iter::once(None).chain(prompt_steps.iter().map(Some));
            let prompt = prompt_ids.iter().copied().zip(steps).filter(|_| echoes);
            let tokens: Vec<_> = prompt.chain(id.map(|id| (id, step.as_ref()))).collect();
            let naming = Naming { app, by_id: self.fields.names_by_id() };
            logprobs::completion(naming, &tokens, top, before)
        });
        let ids = self.fields.returns_ids();
        let (reason, stop) = finish.map_or((None, Value::Null), |f| (Some(f.reason), f.stop));
        Ok(json!({
            "index": index,
            "text": text,
            "logprobs": logprobs,
            "finish_reason": reason,
            "stop_reason": stop,
            "prompt_token_ids": (ids && first).then_some(prompt_ids),
            "token_ids": ids.then(|| Vec::from_iter(id)),
        }))
    }
}
