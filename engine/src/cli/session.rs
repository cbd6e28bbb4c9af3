//! A model that a verb has opened, with its tokenizer.

use std::sync::Arc;

use super::CliError;
use super::options::RunOptions;
use crate::chat_template::{ChatTemplate, Message};
use crate::checkpoint::Checkpoint;
use crate::engine::Engine;
use crate::generation::EndIds;
use crate::kv::{BlockSize, Budget, Need, available_memory};
use crate::model::Model;
use crate::numerics::Profile;
use crate::runner::Runner;
use crate::scheduler::{Limits, Policy};
use crate::tokenizer::Tokenizer;

/// The context of a model that allows more, unless a flag says otherwise.
const DEFAULT_CONTEXT: usize = 4096;
/// Tokens of prompts that a step runs beside a token of each sequence: a batch of llama.cpp, which must run together.
pub(super) const STEP_PROMPT_TOKENS: usize = 512;

/// An open model.
pub(super) struct Session<'c> {
    checkpoint: &'c Checkpoint,
    pub(super) model: Model<'c>,
    pub(super) max_context: usize,
    tokenizer: Option<Arc<Tokenizer>>,
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
            tokenizer: Tokenizer::of_checkpoint(checkpoint)?.map(Arc::new),
        })
    }

    /// A runner of the model.
    pub(super) fn runner(&self) -> Result<Runner<'_>, CliError> {
        Ok(self.model.runner(self.max_context)?)
    }

    /// An engine for so many sequences at once, its cache as large as they need and memory allows, at least for one.
    pub(super) fn engine(&self, sequences: usize) -> Result<Engine<'_>, CliError> {
        let runner = self.runner()?;
        let (shape, size) = (runner.kv_shape(), BlockSize::DEFAULT);
        let need = Need { max_model_len: self.max_context, shorten: false, sequences };
        let (one, all) = (Need { sequences: 1, ..need }, shape.bytes_for(size, need));
        let half = available_memory().map_or(all, |available| available / 2);
        let memory = all.min(half).max(shape.bytes_for(size, one));
        let limits = Limits {
            max_sequences: sequences,
            step_tokens: sequences.saturating_add(STEP_PROMPT_TOKENS),
            pieces: runner.pieces(),
            policy: Policy::Fcfs,
            max_waiting: sequences,
            reuse_prefixes: true,
        };
        let budget = Budget::plan(shape, size, memory, need)?;
        Ok(Engine::new(runner, limits, &budget, self.end_ids(), self.model.pool()))
    }

    /// The tokenizer, if there is one.
    pub(super) fn find_tokenizer(&self) -> Option<&Tokenizer> {
        self.tokenizer.as_deref()
    }

    /// The tokenizer, if there is one, to be shared with other threads.
    pub(super) fn share_tokenizer(&self) -> Option<Arc<Tokenizer>> {
        self.tokenizer.clone()
    }

    /// The tokenizer; an error if there is none.
    pub(super) fn tokenizer(&self) -> Result<&Tokenizer, CliError> {
        let path = || self.checkpoint.path().to_path_buf();
        self.tokenizer.as_deref().ok_or_else(|| CliError::NoTokenizer { path: path() })
    }

    /// The chat template, if there is one and a tokenizer to read it with.
    pub(super) fn find_template(&self) -> Result<Option<ChatTemplate>, CliError> {
        let Some(tokenizer) = self.find_tokenizer() else { return Ok(None) };
        Ok(ChatTemplate::of_checkpoint(self.checkpoint, tokenizer)?)
    }

    /// The chat template; an error if there is none.
    pub(super) fn template(&self) -> Result<ChatTemplate, CliError> {
        self.tokenizer()?;
        let template = self.find_template()?;
        let path = || self.checkpoint.path().to_path_buf();
        template.ok_or_else(|| CliError::NoTemplate { path: path() })
    }

    /// The ids of a conversation, up to where the answer begins.
    pub(super) fn render(&self, messages: &[Message]) -> Result<Vec<u32>, CliError> {
        let text = self.template()?.render(messages, true, &serde_json::Map::new())?;
        Ok(self.tokenizer()?.encode_rendered(&text)?)
    }

    /// The tokens that end a generation.
    pub(super) fn end_ids(&self) -> EndIds {
        let of_model = self.model.config().end_ids.iter().copied();
        let of_text = self.tokenizer.iter().flat_map(|tokenizer| tokenizer.end_of_generation());
        EndIds::new(of_model.chain(of_text))
    }
}
