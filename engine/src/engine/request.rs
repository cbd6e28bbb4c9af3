//! What goes into an engine, and what comes out.

use crate::generation::{FinishReason, Generated, Generating, Generation, Step, Taken};
use crate::runner::RunError;
use crate::scheduler::{QueueFull, RequestId};

/// What is asked of an engine.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What to generate.
    pub generation: Generation,
    /// Lower goes first, where priorities count.
    pub priority: i64,
    /// Shares remembered prefixes only with requests of the same salt.
    pub salt: Option<String>,
}

/// A request that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The model cannot run it.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Too many wait.
    #[error(transparent)]
    Full(#[from] QueueFull),
}

/// What became of a request in a step.
#[derive(Debug)]
pub enum Event {
    /// It has one more token.
    Token {
        /// The request.
        id: RequestId,
        /// The token.
        token: Token,
    },
    /// It has ended, after its last token was told.
    Ended {
        /// The request.
        id: RequestId,
        /// Its prompt.
        prompt_ids: Vec<u32>,
        /// All of its answer.
        generated: Generated,
    },
}

/// A token as it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// Its id; none where a request asked only for its prompt.
    pub id: Option<u32>,
    /// What the model thought of it, where that was asked for.
    pub step: Option<Step>,
    /// What it thought of the prompt, with the first token where that was asked for.
    pub prompt_steps: Vec<Step>,
    /// Why it is the last; none if it is not.
    pub ended: Option<FinishReason>,
}

impl Token {
    pub(super) fn none(generating: &Generating) -> Self {
        let ended = Some(FinishReason::Length);
        Self {
            id: None,
            step: None,
            prompt_steps: generating.generated().prompt_steps.clone(),
            ended,
        }
    }

    pub(super) fn taken(taken: Taken, generating: &Generating) -> Self {
        let generated = generating.generated();
        let step = generated.steps.last().cloned();
        let prompt_steps = match generated.ids.len() {
            1 => generated.prompt_steps.clone(),
            _ => Vec::new(),
        };
        Self { id: Some(taken.id), step, prompt_steps, ended: taken.ended }
    }
}

impl Event {
    pub(super) fn ended(id: RequestId, generating: Generating) -> Self {
        let prompt_ids = generating.request().prompt_ids.clone();
        Self::Ended { id, prompt_ids, generated: generating.into_generated() }
    }
}
