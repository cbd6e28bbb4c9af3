//! One choice of an answer, as its tokens come.

use serde_json::{Value, json};

use super::app::App;
use super::fields::Fields;
use super::text::Text;
use crate::engine::{Request, Token};
use crate::generation::{FinishReason, Step};

/// What a token adds to a choice.
#[derive(Debug, Default)]
pub(super) struct Delta {
    /// The token; none where only a prompt was asked for.
    pub(super) id: Option<u32>,
    pub(super) text: String,
    pub(super) step: Option<Step>,
    /// What the model thought of the prompt, with the first token.
    pub(super) prompt_steps: Vec<Step>,
    pub(super) finish: Option<Finish>,
}

/// Why a choice has ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finish {
    pub(super) reason: &'static str,
    /// The stop string, or the stop token's id; null for the end of the model's own.
    pub(super) stop: Value,
}

/// A choice so far.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) prompt_ids: Vec<u32>,
    stop_ids: Vec<u32>,
    /// Whether the model's own end tokens end it.
    heeds_eos: bool,
    text: Text,
    pub(super) tokens: usize,
    pub(super) finish: Option<Finish>,
}

impl Choice {
    /// A choice of which nothing has come.
    pub(super) fn new(app: &App, fields: &Fields, request: &Request) -> Self {
        let generation = &request.generation;
        let (skip, include) = (fields.skips_special(), fields.includes_stop());
        Self {
            prompt_ids: generation.prompt_ids.clone(),
            stop_ids: generation.stop_ids.clone(),
            heeds_eos: !generation.ignore_eos,
            text: Text::new(app.share_tokenizer(), skip, fields.stops(), include),
            tokens: 0,
            finish: None,
        }
    }

    /// Takes a token of a choice that has not ended.
    pub(super) fn take(&mut self, app: &App, token: Token) -> Delta {
        let Token { id, step, prompt_steps, ended } = token;
        self.tokens += usize::from(id.is_some());
        let stopped_itself = ended == Some(FinishReason::Stop);
        // The token that ends an answer has no text of it.
        let piece = self.text.push(id.filter(|_| !stopped_itself), ended.is_some());
        let stop_string = piece.stopped.map(|stop| Finish { reason: "stop", stop: json!(stop) });
        self.finish = stop_string.or_else(|| {
            ended.map(|reason| match reason {
                FinishReason::Length => Finish { reason: "length", stop: Value::Null },
                FinishReason::Stop => Finish { reason: "stop", stop: self.stop_id(app, id) },
            })
        });
        Delta { id, text: piece.text, step, prompt_steps, finish: self.finish.clone() }
    }

    fn stop_id(&self, app: &App, id: Option<u32>) -> Value {
        match id {
            Some(id) if self.heeds_eos && app.settings.ends.contains(id) => Value::Null,
            Some(id) if self.stop_ids.contains(&id) => json!(id),
            _ => Value::Null,
        }
    }
}
