//! Runs one sequence through a model: prompts in batches, then token by token.

use crate::batch::{Batch, Outputs};
use crate::config::ModelConfig;
use crate::hidden::Hidden;
use crate::kv_cache::KvCache;
use crate::layers::{Decoder, Pass};
use crate::numerics::Numerics;
use crate::taps::Taps;

/// Tokens that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// There are none.
    #[error("the prompt has no tokens; give at least one")]
    Empty,
    /// An id outside the vocabulary.
    #[error("token id {id} does not exist; the vocabulary has {vocabulary} ids")]
    UnknownToken {
        /// The id.
        id: u32,
        /// How many ids there are.
        vocabulary: usize,
    },
    /// More tokens than the context holds.
    #[error(
        "{asked} tokens do not fit in a context of {context}; shorten the request or raise --max-context"
    )]
    ContextOverflow {
        /// Prompt and answer together.
        asked: usize,
        /// The most that fits.
        context: usize,
    },
}

/// A sequence on its way through a model.
pub struct Runner<'m> {
    decoder: &'m Decoder<'m>,
    config: &'m ModelConfig,
    numerics: Box<dyn Numerics>,
    cache: KvCache,
}

impl<'m> Runner<'m> {
    /// An empty sequence of up to `max_context` tokens.
    pub fn new(
        decoder: &'m Decoder<'m>,
        config: &'m ModelConfig,
        numerics: Box<dyn Numerics>,
        max_context: usize,
    ) -> Self {
        let width = config.key_value_width();
        let cache = KvCache::new(numerics.cache_format(), config.layers, width, max_context);
        Self { decoder, config, numerics, cache }
    }

    /// Tokens run so far.
    pub fn positions(&self) -> usize {
        self.cache.positions()
    }

    /// The most tokens that fit.
    pub fn max_context(&self) -> usize {
        self.cache.capacity()
    }

    /// Forgets the sequence from `positions` on.
    pub fn truncate(&mut self, positions: usize) {
        self.cache.truncate(positions);
    }

    /// Runs `ids` after what was run before, and gives the logits of the last one.
    pub fn run(&mut self, ids: &[u32]) -> Result<Vec<f32>, RunError> {
        let logits = self.run_tapped(ids, Outputs::Last, &mut Taps::none())?;
        Ok(logits.map(Hidden::into_values).unwrap_or_default())
    }

    /// The same while `taps` listen. With [`Outputs::All`] the logits of each batch are tapped, and those of
    /// the last batch returned.
    pub fn run_tapped(
        &mut self,
        ids: &[u32],
        outputs: Outputs,
        taps: &mut Taps,
    ) -> Result<Option<Hidden>, RunError> {
        self.check(ids)?;
        let mut rest = ids;
        loop {
            let (now, later) = rest.split_at(rest.len().min(self.numerics.batch_rows()));
            let wanted = match outputs {
                Outputs::Last if !later.is_empty() => Outputs::None,
                wanted => wanted,
            };
            let logits = self.run_batch(now, wanted, taps);
            if later.is_empty() {
                return Ok(logits);
            }
            rest = later;
        }
    }

    /// Whether `ids` can be run now: they exist, and they fit.
    pub fn check(&self, ids: &[u32]) -> Result<(), RunError> {
        if ids.is_empty() {
            return Err(RunError::Empty);
        }
        let vocabulary = self.config.vocabulary;
        if let Some(&id) = ids.iter().find(|&&id| id as usize >= vocabulary) {
            return Err(RunError::UnknownToken { id, vocabulary });
        }
        self.check_room(ids.len())
    }

    /// Whether `more` tokens fit.
    pub fn check_room(&self, more: usize) -> Result<(), RunError> {
        let (asked, context) = (self.positions().saturating_add(more), self.max_context());
        if asked <= context { Ok(()) } else { Err(RunError::ContextOverflow { asked, context }) }
    }

    fn run_batch(&mut self, ids: &[u32], outputs: Outputs, taps: &mut Taps) -> Option<Hidden> {
        let first = self.positions();
        let positions = first..first + ids.len();
        let rotary = self.numerics.rotary(&self.config.rope, self.config.head_dim, positions);
        let mut pass = Pass {
            numerics: self.numerics.as_mut(),
            batch: &Batch { ids, first, outputs },
            cache: &mut self.cache,
            taps,
            rotary,
            layer: 0,
        };
        self.decoder.forward(&mut pass)
    }
}
