//! A linear projection.

use kernels::Matrix;

use super::Pass;
use crate::hidden::Hidden;
use crate::weights::{Role, WeightError, Weights};

/// `y = W x + b`, the bias optional.
#[derive(Debug)]
pub struct Linear<'a> {
    weight: Matrix<'a>,
    bias: Option<Vec<f32>>,
}

impl<'a> Linear<'a> {
    /// The projection in that role, from `inputs` to `outputs` values.
    pub fn load(
        weights: &mut Weights<'a>,
        role: Role,
        outputs: usize,
        inputs: usize,
    ) -> Result<Self, WeightError> {
        Ok(Self { weight: weights.matrix(role, outputs, inputs)?, bias: None })
    }

    /// The same with a bias, where `biased`.
    pub fn load_biased(
        weights: &mut Weights<'a>,
        role: Role,
        outputs: usize,
        inputs: usize,
        biased: bool,
    ) -> Result<Self, WeightError> {
        let bias = if biased { Some(weights.bias(role, outputs)?) } else { None };
        Ok(Self { bias, ..Self::load(weights, role, outputs, inputs)? })
    }

    /// A projection without bias by a matrix that another layer holds too.
    pub fn sharing(weight: Matrix<'a>) -> Self {
        Self { weight, bias: None }
    }

    /// Projects every row.
    pub fn forward(&self, pass: &mut Pass<'_>, x: &Hidden) -> Hidden {
        let sequences = pass.batch.firsts.len();
        pass.numerics.linear(&self.weight, self.bias.as_deref(), x, sequences)
    }
}
