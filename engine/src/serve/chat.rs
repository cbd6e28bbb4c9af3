//! `/v1/chat/completions`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answers::Answers;
use super::app::{App, Stamp};
use super::body::Body;
use super::choice::Delta;
use super::error::ApiError;
use super::fields::Fields;
use super::logprobs::{self, Naming};
use super::sse::{self, Events, Gone};
use crate::chat_template::Message;
use crate::generation::Step;

/// The role of answers.
const ROLE: &str = "assistant";
/// Fields that ask for what is not there yet.
const REFUSED: [&str; 9] = [
    "tools",
    "functions",
    "function_call",
    "modalities",
    "audio",
    "prediction",
    "echo",
    "continue_final_message",
    "prompt_logprobs",
];

/// The fields that only chats have.
#[derive(Debug, Deserialize)]
struct OwnFields {
    max_tokens: Option<usize>,
    max_completion_tokens: Option<usize>,
    logprobs: Option<bool>,
    top_logprobs: Option<usize>,
}

/// A request that makes sense.
struct Asked {
    fields: Fields,
    /// How many of the most likely tokens are told; none where no log probabilities are.
    top_logprobs: Option<usize>,
    max_tokens: Option<usize>,
    prompt_ids: Vec<u32>,
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
    REFUSED.iter().try_for_each(|key| body.refuse(key, &[]))?;
    body.refuse("tool_choice", &[json!("none"), json!("auto")])?;
    let prompt_ids = render(&app, &mut body)?;
    let top_logprobs = own.top_logprobs(&app)?;
    app.warn_unread(body.unread());
    let stamp = Stamp::new("chatcmpl", stamp_id.or_else(|| fields.request_id.clone()));
    let streams = fields.stream.unwrap_or(false);
    let max_tokens = own.max_completion_tokens.or(own.max_tokens);
    let asked = Asked { fields, top_logprobs, max_tokens, prompt_ids, stamp };
    let requests = asked.requests(&app)?;
    let each = requests.len();
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

/// The ids of a conversation in a body with `messages`, up to where the answer begins.
pub(super) fn render(app: &App, body: &mut Body) -> Result<Vec<u32>, ApiError> {
    let messages = match body.take("messages") {
        Some(Value::Array(messages)) if !messages.is_empty() => messages.clone(),
        _ => return Err(ApiError::field("messages", "messages must be a list of messages")),
    };
    let messages: Vec<Message> = messages
        .into_iter()
        .enumerate()
        .map(|(at, one)| message(at, one))
        .collect::<Result<_, _>>()?;
    let prompt = match body.take("add_generation_prompt") {
        None => true,
        Some(Value::Bool(prompt)) => *prompt,
        Some(_) => {
            let message = "add_generation_prompt must be true or false";
            return Err(ApiError::field("add_generation_prompt", message));
        }
    };
    body.refuse("add_special_tokens", &[])?;
    body.refuse("chat_template", &[])?;
    let mut extra = Map::new();
    for key in ["documents", "reasoning_effort"] {
        extra.extend(body.take(key).map(|value| (key.to_owned(), value.clone())));
    }
    match body.take("chat_template_kwargs") {
        None => {}
        Some(Value::Object(more)) => extra.extend(more.clone()),
        Some(_) => {
            let message = "chat_template_kwargs must be an object";
            return Err(ApiError::field("chat_template_kwargs", message));
        }
    }
    let text = app.template()?.render(&messages, prompt, &extra);
    let text = text.map_err(|error| ApiError::field("messages", error.to_string()))?;
    let ids = app.tokenizer()?.encode_rendered(&text);
    ids.map_err(|error| ApiError::field("messages", error.to_string()))
}

/// A message, without the keys that clients send as null, and its content as text where it is parts of text.
fn message(at: usize, mut one: Value) -> Result<Message, ApiError> {
    let wrong = |message: String| ApiError::field(&format!("messages[{at}]"), message);
    if let Some(map) = one.as_object_mut() {
        map.retain(|_, value| !value.is_null());
    }
    let mut message: Message = serde_path_to_error::deserialize(one)
        .map_err(|error| wrong(format!("messages[{at}].{}: {}", error.path(), error.inner())))?;
    if let Value::Array(parts) = &message.content {
        let text = |part: &Value| match part {
            Value::String(text) => Some(text.clone()),
            part if part["type"] == "text" => part["text"].as_str().map(str::to_owned),
            _ => None,
        };
        let texts: Option<Vec<String>> = parts.iter().map(text).collect();
        let unknown = "has content that is not text, which this model does not read";
        let texts = texts.ok_or_else(|| wrong(format!("messages[{at}] {unknown}")))?;
        message.content = Value::String(texts.join("\n"));
    }
    Ok(message)
}

impl OwnFields {
    /// How many of the most likely tokens are told; none where no log probabilities are.
    fn top_logprobs(&self, app: &App) -> Result<Option<usize>, ApiError> {
        let (wanted, top) = (self.logprobs.unwrap_or(false), self.top_logprobs.unwrap_or(0));
        let most = app.settings.max_logprobs;
        if top > most {
            let message = format!("top_logprobs is more than {most}");
            return Err(ApiError::field("top_logprobs", message));
        }
        if top > 0 && !wanted {
            return Err(ApiError::field("top_logprobs", "top_logprobs needs logprobs to be true"));
        }
        Ok(wanted.then_some(top))
    }
}

impl Asked {
    fn requests(&self, app: &App) -> Result<Vec<crate::engine::Request>, ApiError> {
        let room = app.settings.max_model_len.saturating_sub(self.prompt_ids.len());
        let max_tokens = self.max_tokens.unwrap_or(room);
        if max_tokens == 0 {
            let message = match self.max_tokens {
                Some(_) => "max_tokens must be at least 1",
                None => "the prompt fills the model's whole context; shorten it",
            };
            return Err(ApiError::field("max_tokens", message));
        }
        let request = |choice| {
            let ids = self.prompt_ids.clone();
            let mut request = self.fields.request(ids, max_tokens, choice, &app.settings)?;
            request.generation.logprobs = self.top_logprobs;
            Ok(request)
        };
        (0..self.fields.choices()).map(request).collect()
    }

    fn logprobs(&self, app: &App, steps: &[Step]) -> Option<Value> {
        let naming = Naming { app, by_id: self.fields.names_by_id() };
        self.top_logprobs.map(|top| logprobs::chat(naming, steps, top))
    }

    async fn whole(&self, app: &App, mut answers: Answers) -> Result<Response, ApiError> {
        let wholes = answers.wholes().await?;
        let ids = self.fields.returns_ids();
        let choices = wholes.into_iter().enumerate().map(|(index, whole)| {
            json!({
                "index": index,
                "message": {
                    "role": ROLE,
                    "content": whole.text,
                    "refusal": null,
                    "annotations": null,
                    "audio": null,
                    "function_call": null,
                    "reasoning": null,
                },
                "logprobs": self.logprobs(app, &whole.steps),
                "finish_reason": whole.finish,
                "stop_reason": whole.stop,
                "token_ids": ids.then_some(whole.ids),
            })
        });
        let choices: Vec<Value> = choices.collect();
        Ok(Json(json!({
            "id": self.stamp.id,
            "object": "chat.completion",
            "created": self.stamp.created,
            "model": app.settings.names[0],
            "choices": choices,
            "service_tier": null,
            "system_fingerprint": null,
            "usage": answers.usage().full(),
            "prompt_logprobs": null,
            "prompt_token_ids": ids.then_some(&self.prompt_ids),
        }))
        .into_response())
    }

    async fn stream(&self, app: &App, mut answers: Answers, events: &Events) -> Result<(), Gone> {
        let (_, usage_always) = self.fields.streamed_usage();
        for index in 0..answers.choices.len() {
            let mut chunk = self.chunk(
                app,
                &json!([{
                    "index": index,
                    "delta": {"role": ROLE, "content": ""},
                    "logprobs": null,
                    "finish_reason": null,
                }]),
            );
            if usage_always {
                chunk["usage"] = answers.usage_of(index).brief();
            }
            chunk["prompt_token_ids"] =
                json!(self.fields.returns_ids().then_some(&self.prompt_ids));
            events.send(&chunk).await?;
        }
        let choice = |index, delta| Ok(self.streamed_choice(app, index, delta));
        answers.follow(&self.fields, events, |choices| self.chunk(app, choices), choice).await
    }

    fn chunk(&self, app: &App, choices: &Value) -> Value {
        json!({
            "id": self.stamp.id,
            "object": "chat.completion.chunk",
            "created": self.stamp.created,
            "model": app.settings.names[0],
            "choices": choices,
        })
    }

    fn streamed_choice(&self, app: &App, index: usize, delta: Delta) -> Value {
        let Delta { id, text, step, finish, .. } = delta;
        let mut choice = json!({
            "index": index,
            "delta": {"content": text},
            "logprobs": self.logprobs(app, step.as_slice()),
            "finish_reason": finish.as_ref().map(|finish| finish.reason),
        });
        if let Some(finish) = finish {
            choice["stop_reason"] = finish.stop;
        }
        choice["token_ids"] = json!(self.fields.returns_ids().then(|| Vec::from_iter(id)));
        choice
    }
}
