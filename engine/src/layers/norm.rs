//! Root mean square normalisation.

use super::Pass;
use crate::hidden::Hidden;
use crate::weights::{Role, WeightError, Weights};

/// Normalises pieces of `weight.len()` values: whole rows, or each head of a row.
#[derive(Debug)]
pub struct RmsNorm {
    weight: Vec<f32>,
    eps: f32,
}

impl RmsNorm {
    /// The norm in that role, over `width` values.
    pub fn load(
        weights: &mut Weights<'_>,
        role: Role,
        width: usize,
        eps: f32,
    ) -> Result<Self, WeightError> {
        Ok(Self { weight: weights.vector(role, width)?, eps })
    }

    /// Normalises every piece of every row.
    pub fn forward(&self, pass: &mut Pass<'_>, x: &Hidden) -> Hidden {
        pass.numerics.rms_norm(&self.weight, self.eps, x)
    }
}
