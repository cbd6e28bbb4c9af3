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
        pass.taps.record("embed", &x);
        for (layer, block) in self.blocks.iter().enumerate() {
            pass.layer = layer;
            x = block.forward(pass, &x);
            pass.taps.record_layer(layer, &x);
        }
        let x = match pass.batch.outputs {
            Outputs::None => return None,
            Outputs::Last => x.last_row(),
            Outputs::All => x,
        };
        let x = self.norm.forward(pass, &x);
        pass.taps.record("norm", &x);
        let logits = self.head.forward(pass, &x);
        pass.taps.record("logits", &logits);
        Some(logits)
    }
}
