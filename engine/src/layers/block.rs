//! The pre-norm residual block of almost every decoder.

use super::{Attention, GatedMlp, Pass, RmsNorm};
use crate::batch::Outputs;
use crate::hidden::Hidden;

/// `x + attention(norm(x))`, then `x + mlp(norm(x))`.
#[derive(Debug)]
pub struct Block<'a> {
    /// The norm before attention.
    pub attention_norm: RmsNorm,
    /// Attention.
    pub attention: Attention<'a>,
    /// The norm before the feed-forward network.
    pub mlp_norm: RmsNorm,
    /// The feed-forward network.
    pub mlp: GatedMlp<'a>,
}

impl Block<'_> {
    /// Applies the block to the residual stream; with [`Outputs::Last`] only the last row of each sequence goes on after
    /// attention.
    pub fn forward(&self, pass: &mut Pass<'_>, x: &Hidden, outputs: Outputs) -> Hidden {
        let mut normed = self.attention_norm.forward(pass, x);
        pass.tap("attention_norm", &mut normed);
        let mut attended = self.attention.forward(pass, &normed);
        pass.tap("attention", &mut attended);
        let mut x = match outputs {
            Outputs::Last => {
                let each = pass.batch.rows_each();
                pass.numerics.add(attended.last_of_each(each), &x.last_of_each(each))
            }
            Outputs::None | Outputs::All => pass.numerics.add(attended, x),
        };
        pass.tap("middle", &mut x);
        let mut normed = self.mlp_norm.forward(pass, &x);
        pass.tap("mlp_norm", &mut normed);
        let mut fed = self.mlp.forward(pass, &normed);
        pass.tap("mlp", &mut fed);
        pass.numerics.add(fed, &x)
    }
}
