//! A model that a verb has opened, with its tokenizer.

use super::CliError;
use super::options::RunOptions;
use crate::chat_template::{ChatTemplate, Message};
use crate::checkpoint::Checkpoint;
use crate::model::Model;
use crate::numerics::Profile;
use crate::runner::Runner;
use crate::tokenizer::Tokenizer;

/// The context of a model that allows more, unless a flag says otherwise.
const DEFAULT_CONTEXT: usize = 4096;

/// An open model.
pub(super) struct Session<'c> {
    checkpoint: &'c Checkpoint,
    pub(super) model: Model<'c>,
    pub(super) max_context: usize,
    tokenizer: Option<Tokenizer>,
}

impl<'c> Session<'c> {
    /// Loads the model of `checkpoint`, and its tokenizer if it has one.
    pub(super) fn open(checkpoint: &'c Checkpoint, options: &RunOptions) -> Result<Self, CliError> {
        let profile = options.profile.unwrap_or_else(|| Profile::natural(checkpoint));
        let model = Model::load(checkpoint, profile, options.pool()?)?;
        let trained = model.config().context_length;
        let max_context = match options.max_context {
            None => trained.min(DEFAULT_CONTEXT),
            Some(asked) if asked.get() <= trained => asked.get(),
            Some(asked) => {
                let fault = format!("{asked} is more than the {trained} tokens of the model");
                return Err(CliError::Argument { name: "--max-context", fault });
            }
        };
        Ok(Self {
            checkpoint,
            model,
            max_context,
            tokenizer: Tokenizer::of_checkpoint(checkpoint)?,
        })
    }

    /// A runner of the model.
    pub(super) fn runner(&self) -> Result<Runner<'_>, CliError> {
        Ok(self.model.runner(self.max_context)?)
    }

    /// The tokenizer, if there is one.
    pub(super) fn find_tokenizer(&self) -> Option<&Tokenizer> {
        self.tokenizer.as_ref()
    }

    /// The tokenizer; an error if there is none.
    pub(super) fn tokenizer(&self) -> Result<&Tokenizer, CliError> {
        let path = || self.checkpoint.path().to_path_buf();
        self.tokenizer.as_ref().ok_or_else(|| CliError::NoTokenizer { path: path() })
    }

    /// The chat template; an error if there is none.
    pub(super) fn template(&self) -> Result<ChatTemplate, CliError> {
        let template = ChatTemplate::of_checkpoint(self.checkpoint, self.tokenizer()?)?;
        let path = || self.checkpoint.path().to_path_buf();
        template.ok_or_else(|| CliError::NoTemplate { path: path() })
    }

    /// The ids of a conversation, up to where the answer begins.
    pub(super) fn render(&self, messages: &[Message]) -> Result<Vec<u32>, CliError> {
        let text = self.template()?.render(messages, true, &serde_json::Map::new())?;
        Ok(self.tokenizer()?.encode_rendered(&text)?)
    }

    /// Whether a token ends a generation.
    pub(super) fn ends(&self, id: u32) -> bool {
        self.model.config().end_ids.contains(&id)
            || self.tokenizer.as_ref().is_some_and(|tokenizer| tokenizer.is_end_of_generation(id))
    }
}
