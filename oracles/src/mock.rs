//! An oracle that reads its answers from a file: for tests of the harness, never for a verdict.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::place::PlaceError;
use crate::spec::SpecError;
use crate::verbs::{Completion, CompletionRequest, Identity, Message, Oracle, VerbError};

/// The file: who the mock is, and what it answers to what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MockAnswers {
    /// Who it says it is.
    pub identity: Identity,
    /// Answers to `tokenize`.
    #[serde(default)]
    pub tokenize: Vec<Tokenized>,
    /// Answers to `detokenize`.
    #[serde(default)]
    pub detokenize: Vec<Detokenized>,
    /// Answers to `render_chat`.
    #[serde(default)]
    pub render_chat: Vec<Rendered>,
    /// Answers to `complete`.
    #[serde(default)]
    pub complete: Vec<Completed>,
    /// After this many answers it is dead; it never dies when `None`.
    #[serde(default)]
    pub dies_after: Option<u64>,
}

/// An answer to `tokenize`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokenized {
    /// The question's text.
    pub text: String,
    /// The question's flag.
    pub add_special: bool,
    /// The question's flag.
    pub parse_special: bool,
    /// The answer.
    pub ids: Vec<u32>,
}

/// An answer to `detokenize`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detokenized {
    /// The question.
    pub ids: Vec<u32>,
    /// The answer.
    pub text: String,
}

/// An answer to `render_chat`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rendered {
    /// The question.
    pub messages: Vec<Message>,
    /// The answer.
    pub text: String,
}

/// An answer to `complete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completed {
    /// The question.
    pub request: CompletionRequest,
    /// The answer.
    pub completion: Completion,
}

/// The mock.
#[derive(Debug, Clone, PartialEq)]
pub struct MockOracle {
    answers: MockAnswers,
    answered: u64,
}

impl MockOracle {
    /// A mock with `answers`.
    pub fn new(answers: MockAnswers) -> Self {
        Self { answers, answered: 0 }
    }

    /// Reads [`MockAnswers`] as JSON from `path`.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|error| PlaceError::new("read", path, error))?;
        let answers = serde_json::from_slice(&bytes).map_err(|error| SpecError::Parse {
            path: path.to_path_buf(),
            message: error.to_string(),
        })?;
        Ok(Self::new(answers))
    }

    /// The answer that `find` finds, unless the mock is dead by now.
    fn answer<T>(
        &mut self,
        verb: &'static str,
        request: impl std::fmt::Debug,
        find: impl Fn(&MockAnswers) -> Option<T>,
    ) -> Result<T, VerbError> {
        let oracle = self.answers.identity.name.clone();
        if self.answers.dies_after.is_some_and(|limit| self.answered >= limit) {
            return Err(VerbError::Died {
                oracle,
                verb,
                status: "as dies_after asks".to_owned(),
                log: "no log".into(),
                tail: String::new(),
            });
        }
        self.answered += 1;
        let request = format!("{request:?}");
        find(&self.answers).ok_or(VerbError::Unanswerable { oracle, verb, request })
    }
}

impl Oracle for MockOracle {
    fn identity(&self) -> &Identity {
        &self.answers.identity
    }

    fn tokenize(
        &mut self,
        text: &str,
        add_special: bool,
        parse_special: bool,
    ) -> Result<Vec<u32>, VerbError> {
        let asked = (text, add_special, parse_special);
        self.answer("tokenize", asked, |answers| {
            let found = answers.tokenize.iter().find(|answer| {
                (answer.text.as_str(), answer.add_special, answer.parse_special) == asked
            });
            found.map(|answer| answer.ids.clone())
        })
    }

    fn detokenize(&mut self, ids: &[u32]) -> Result<String, VerbError> {
        self.answer("detokenize", ids, |answers| {
            let found = answers.detokenize.iter().find(|answer| answer.ids == ids);
            found.map(|answer| answer.text.clone())
        })
    }

    fn render_chat(&mut self, messages: &[Message]) -> Result<String, VerbError> {
        self.answer("render_chat", messages, |answers| {
            let found = answers.render_chat.iter().find(|answer| answer.messages == messages);
            found.map(|answer| answer.text.clone())
        })
    }

    fn complete(&mut self, request: &CompletionRequest) -> Result<Completion, VerbError> {
        self.answer("complete", request, |answers| {
            let found = answers.complete.iter().find(|answer| answer.request == *request);
            found.map(|answer| answer.completion.clone())
        })
    }
}
