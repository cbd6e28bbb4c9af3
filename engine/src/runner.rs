//! Runs sequences through a model: each prompt in batches of its own, then token by token, several sequences at once.

use crate::batch::{Batch, Outputs};
use crate::config::ModelConfig;
use crate::hidden::Hidden;
use crate::kv::{BlockSize, KvShape, Store};
use crate::layers::{Decoder, Pass};
use crate::numerics::Numerics;
use crate::scheduler::Pieces;
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

/// A sequence on its way through a model alone: a store of its own, with the keys and values of the tokens that were run.
#[derive(Debug)]
pub struct Sequence {
    store: Store,
    table: Vec<u32>,
    positions: usize,
    capacity: usize,
}

impl Sequence {
    /// Tokens run so far.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// Forgets everything from `positions` on.
    pub fn truncate(&mut self, positions: usize) {
        self.positions = self.positions.min(positions);
    }

    /// Whether `more` tokens fit.
    pub fn check_room(&self, more: usize) -> Result<(), RunError> {
        let (asked, context) = (self.positions().saturating_add(more), self.capacity);
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
        let (size, capacity) = (BlockSize::DEFAULT, self.max_context);
        let table: Vec<u32> = (0..size.blocks_for(capacity) as u32).collect();
        Sequence { store: self.store(size, table.len()), table, positions: 0, capacity }
    }

    /// An empty store for sequences of this model.
    pub fn store(&self, size: BlockSize, blocks: usize) -> Store {
        let KvShape { layers, width, format } = self.kv_shape();
        Store::new(format, layers, width, size, blocks)
    }

    /// Into which pieces a prompt may be cut without changing a bit.
    pub fn pieces(&self) -> Pieces {
        self.numerics.pieces()
    }

    /// What the model keeps of each token.
    pub fn kv_shape(&self) -> KvShape {
        KvShape {
            layers: self.config.layers,
            width: self.config.key_value_width(),
            format: self.numerics.cache_format(),
        }
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
            let batch = Batch { ids: now, firsts: &[sequence.positions], outputs: wanted };
            let Sequence { store, table, positions, .. } = sequence;
            let logits = self.forward(store, &[table], &batch, taps);
            *positions += now.len();
            if later.is_empty() {
                return Ok(logits);
            }
            rest = later;
        }
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

    /// Runs a batch whose sequences have their rows in `store` at these block tables: room for every row, and the rows before.
    /// The ids were checked. What a sequence becomes does not depend on the others.
    pub fn forward(
        &mut self,
        store: &mut Store,
        tables: &[&[u32]],
        batch: &Batch<'_>,
        taps: &mut Taps,
    ) -> Option<Hidden> {
        let (rope, dim) = (&self.config.rope, self.config.head_dim);
        let rotary = self.numerics.rotary(rope, dim, &batch.positions());
        let numerics = self.numerics.as_mut();
        let mut pass = Pass { numerics, batch, store, tables, taps, rotary, layer: 0 };
        self.decoder.forward(&mut pass)
    }
}
