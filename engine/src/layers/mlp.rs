//! The gated feed-forward network (Shazeer 2020).

use super::{Linear, Pass};
use crate::hidden::Hidden;
use crate::weights::{Role, WeightError, Weights};

/// `down(silu(gate(x)) * up(x))`.
#[derive(Debug)]
pub struct GatedMlp<'a> {
    gate: Linear<'a>,
    up: Linear<'a>,
    down: Linear<'a>,
}

impl<'a> GatedMlp<'a> {
    /// The network from `hidden` values over `intermediate` ones and back.
    pub fn load(
        weights: &mut Weights<'a>,
        hidden: usize,
        intermediate: usize,
    ) -> Result<Self, WeightError> {
        Ok(Self {
            gate: Linear::load(weights, Role::Gate, intermediate, hidden)?,
            up: Linear::load(weights, Role::Up, intermediate, hidden)?,
            down: Linear::load(weights, Role::Down, hidden, intermediate)?,
        })
    }

    /// Applies the network to every row.
    pub fn forward(&self, pass: &mut Pass<'_>, x: &Hidden) -> Hidden {
        let mut gate = self.gate.forward(pass, x);
        pass.tap("gate", &mut gate);
        let mut up = self.up.forward(pass, x);
        pass.tap("up", &mut up);
        let mut gated = pass.numerics.silu_mul(&gate, &up);
        pass.tap("gated", &mut gated);
        self.down.forward(pass, &gated)
    }
}
