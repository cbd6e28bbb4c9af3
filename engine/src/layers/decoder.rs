//! A whole decoder: embedding, blocks, norm, head.

use super::{Block, Embedding, Head, Pass, RmsNorm};
use crate::batch::Outputs;
use crate::hidden::Hidden;

/// A decoder-only transformer.
#[derive(Debug)]
pub struct Decoder<'a> {
    /// Token ids to the residual stream.
    pub embedding: Embedding<'a>,
    /// The blocks, first to last.
    pub blocks: Vec<Block<'a>>,
    /// The norm before the head.
    pub norm: RmsNorm,
    /// The residual stream to logits.
    pub head: Head<'a>,
}

impl Decoder<'_> {
    /// The logits of the rows that the batch asks for; none where it asks for none.
    pub fn forward(&self, pass: &mut Pass<'_>) -> Option<Hidden> {
        let mut x = self.embedding.forward(pass);
        pass.taps.record("embed", &mut x);
        for (layer, block) in self.blocks.iter().enumerate() {
            pass.layer = layer;
            // Nothing attends to the last layer's output, so only the rows asked for go through its network.
            let last = layer + 1 == self.blocks.len();
            let outputs = if last { pass.batch.outputs } else { Outputs::All };
            x = block.forward(pass, &x, outputs);
            pass.taps.record_layer(layer, &mut x);
        }
        if pass.batch.outputs == Outputs::None {
            return None;
        }
        let mut x = self.norm.forward(pass, &x);
        pass.taps.record("norm", &mut x);
        let mut logits = self.head.forward(pass, &x);
        pass.taps.record("logits", &mut logits);
        Some(logits)
    }
}
