//! Runs sequences through a model: each prompt in batches of its own, then token by token, several sequences at once.

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

/// A model that computes sequences.
pub struct Runner<'m> {
    decoder: &'m Decoder<'m>,
    config: &'m ModelConfig,
    numerics: Box<dyn Numerics>,
    max_context: usize,
}

/// A sequence on its way through a model: the keys and values of the tokens that were run.
#[derive(Debug)]
pub struct Sequence {
    cache: KvCache,
}

impl Sequence {
    /// Tokens run so far.
    pub fn positions(&self) -> usize {
        self.cache.positions()
    }

    /// Forgets everything from `positions` on.
    pub fn truncate(&mut self, positions: usize) {
        self.cache.truncate(positions);
    }

    /// Whether `more` tokens fit.
    pub fn check_room(&self, more: usize) -> Result<(), RunError> {
        let (asked, context) = (self.positions().saturating_add(more), self.cache.capacity());
        if asked <= context { Ok(()) } else { Err(RunError::ContextOverflow { asked, context }) }
    }
}

impl<'m> Runner<'m> {
    /// Computes sequences of up to `max_context` tokens.
    pub fn new(
        decoder: &'m Decoder<'m>,
        config: &'m ModelConfig,
        numerics: Box<dyn Numerics>,
        max_context: usize,
    ) -> Self {
        Self { decoder, config, numerics, max_context }
    }

    /// An empty sequence.
    pub fn sequence(&self) -> Sequence {
        let (layers, width) = (self.config.layers, self.config.key_value_width());
        let format = self.numerics.cache_format();
        Sequence { cache: KvCache::new(format, layers, width, self.max_context) }
    }

    /// The most tokens of a sequence.
    pub fn max_context(&self) -> usize {
        self.max_context
    }

    /// Runs `ids` after what was run before, and gives the logits of the last one.
    pub fn run(&mut self, sequence: &mut Sequence, ids: &[u32]) -> Result<Vec<f32>, RunError> {
        let logits = self.run_tapped(sequence, ids, Outputs::Last, &mut Taps::none())?;
        Ok(logits.map(Hidden::into_values).unwrap_or_default())
    }

    /// The same while `taps` listen. With [`Outputs::All`] the logits of each batch are tapped, and those of
    /// the last batch returned.
    pub fn run_tapped(
        &mut self,
        sequence: &mut Sequence,
        ids: &[u32],
        outputs: Outputs,
        taps: &mut Taps,
    ) -> Result<Option<Hidden>, RunError> {
        self.check(ids)?;
        sequence.check_room(ids.len())?;
        let mut rest = ids;
        loop {
            let (now, later) = rest.split_at(rest.len().min(self.numerics.batch_rows()));
            let wanted = match outputs {
                Outputs::Last if !later.is_empty() => Outputs::None,
                wanted => wanted,
            };
            let logits = self.run_batch(&mut [sequence], now, wanted, taps);
            if later.is_empty() {
                return Ok(logits);
            }
            rest = later;
        }
    }

    /// Runs one token of each sequence, and gives their logits, a row each. What a sequence becomes does not depend on the
    /// others.
    pub fn step(
        &mut self,
        sequences: &mut [&mut Sequence],
        ids: &[u32],
    ) -> Result<Hidden, RunError> {
        self.check(ids)?;
        for sequence in &*sequences {
            sequence.check_room(1)?;
        }
        let logits = self.run_batch(sequences, ids, Outputs::Last, &mut Taps::none());
        Ok(logits.unwrap_or_else(|| Hidden::zeros(0, 0)))
    }

    /// Whether there are `ids`, and they exist.
    pub fn check(&self, ids: &[u32]) -> Result<(), RunError> {
        if ids.is_empty() {
            return Err(RunError::Empty);
        }
        let vocabulary = self.config.vocabulary;
        match ids.iter().find(|&&id| id as usize >= vocabulary) {
            Some(&id) => Err(RunError::UnknownToken { id, vocabulary }),
            None => Ok(()),
        }
    }

    fn run_batch(
        &mut self,
        sequences: &mut [&mut Sequence],
        ids: &[u32],
        outputs: Outputs,
        taps: &mut Taps,
    ) -> Option<Hidden> {
        let firsts: Vec<usize> = sequences.iter().map(|sequence| sequence.positions()).collect();
        let batch = Batch { ids, firsts: &firsts, outputs };
        let (rope, dim) = (&self.config.rope, self.config.head_dim);
        let rotary = self.numerics.rotary(rope, dim, &batch.positions());
        let mut caches: Vec<&mut KvCache> =
            sequences.iter_mut().map(|sequence| &mut sequence.cache).collect();
        let mut pass = Pass {
            numerics: self.numerics.as_mut(),
            batch: &batch,
            caches: &mut caches,
            taps,
            rotary,
            layer: 0,
        };
        self.decoder.forward(&mut pass)
    }
}
