//! The two ends of a decoder: token ids to rows, rows to logits.

use kernels::Matrix;

use super::{Linear, Pass};
use crate::config::ModelConfig;
use crate::hidden::Hidden;
use crate::weights::{Role, WeightError, Weights};

/// A table with one row a token id.
#[derive(Debug)]
pub struct Embedding<'a> {
    table: Matrix<'a>,
}

impl<'a> Embedding<'a> {
    /// The table of `vocabulary` rows of `hidden` values.
    pub fn load(
        weights: &mut Weights<'a>,
        vocabulary: usize,
        hidden: usize,
    ) -> Result<Self, WeightError> {
        Ok(Self { table: weights.matrix(Role::Embedding, vocabulary, hidden)? })
    }

    /// The rows of the batch's tokens.
    pub fn forward(&self, pass: &mut Pass<'_>) -> Hidden {
        pass.numerics.embed(&self.table, pass.batch.ids)
    }
}

/// The projection to logits: a matrix of its own, or the embedding's.
#[derive(Debug)]
pub struct Head<'a>(Linear<'a>);

impl<'a> Head<'a> {
    /// The head that the configuration names.
    pub fn load(
        weights: &mut Weights<'a>,
        embedding: &Embedding<'a>,
        config: &ModelConfig,
    ) -> Result<Self, WeightError> {
        if config.tied_head {
            return Ok(Self(Linear::sharing(embedding.table)));
        }
        Linear::load(weights, Role::Head, config.vocabulary, config.hidden).map(Self)
    }

    /// One row of logits a row of `x`.
    pub fn forward(&self, pass: &mut Pass<'_>, x: &Hidden) -> Hidden {
        self.0.forward(pass, x)
    }
}
