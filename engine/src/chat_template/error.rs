//! Why a conversation cannot be rendered.

use std::path::PathBuf;
use std::{fmt, io};

use crate::checkpoint;
use crate::tokenizer::TokenizerError;

/// A template that does not compile, or a conversation that it refuses.
#[derive(Debug, thiserror::Error)]
pub enum ChatTemplateError {
    /// The template cannot be read from the file's metadata.
    #[error(transparent)]
    Metadata(#[from] checkpoint::Error),
    /// tokenizer_config.json cannot be read.
    #[error(transparent)]
    Config(#[from] TokenizerError),
    /// chat_template.jinja cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// tokenizer_config.json has something else than a template where one belongs.
    #[error("{}: chat_template is {found}; a template, or a list with one named \"default\", is needed", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// What is there.
        found: String,
    },
    /// The template is not a Jinja2 program.
    #[error("{origin} does not compile: line {line}: {fault}")]
    Syntax {
        /// Which template, with the file and the key that it comes from.
        origin: String,
        /// The line, counted from 1; 0 if it is not known.
        line: usize,
        /// What the parser says.
        fault: String,
    },
    /// The template itself refused the conversation, by `raise_exception`.
    #[error("the chat template refuses the conversation: {message}")]
    Refused {
        /// The template's own words.
        message: String,
    },
    /// The template uses something that is not there, or runs for too long.
    #[error("{origin} failed: line {line}: {source}")]
    Rendering {
        /// Which template, with the file and the key that it comes from.
        origin: String,
        /// The line, counted from 1; 0 if it is not known.
        line: usize,
        /// What happened there.
        source: Box<minijinja::Error>,
    },
}

/// What `raise_exception` throws, found again behind the engine's own error.
#[derive(Debug)]
pub(super) struct Raised(pub(super) String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

impl ChatTemplateError {
    pub(super) fn syntax(origin: &str, error: &minijinja::Error) -> Self {
        let fault = error.detail().map_or_else(|| error.to_string(), ToOwned::to_owned);
        Self::Syntax { origin: origin.to_owned(), line: error.line().unwrap_or(0), fault }
    }

    pub(super) fn rendering(origin: &str, error: minijinja::Error) -> Self {
        let mut cause: Option<&dyn std::error::Error> = Some(&error);
        while let Some(current) = cause {
            if let Some(Raised(message)) = current.downcast_ref() {
                return Self::Refused { message: message.clone() };
            }
            cause = current.source();
        }
        let line = error.line().unwrap_or(0);
        Self::Rendering { origin: origin.to_owned(), line, source: Box::new(error) }
    }
}
