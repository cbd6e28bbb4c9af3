//! What one forward pass carries from layer to layer.

use crate::batch::Batch;
use crate::hidden::Hidden;
use crate::kv::Store;
use crate::numerics::{Numerics, RotaryTable};
use crate::taps::Taps;

/// One batch on its way through a model.
pub struct Pass<'p> {
    /// How operations are computed.
    pub numerics: &'p mut dyn Numerics,
    /// Which tokens, at which positions.
    pub batch: &'p Batch<'p>,
    /// Keys and values; those of the batch are added on the way.
    pub store: &'p mut Store,
    /// The block table of each sequence.
    pub tables: &'p [&'p [u32]],
    /// Who listens to intermediate values.
    pub taps: &'p mut Taps,
    /// The rotary angles of the batch's positions, the same in every layer.
    pub rotary: RotaryTable,
    /// The layer that is being computed.
    pub layer: usize,
}

impl Pass<'_> {
    /// Lets the taps see a value of the current layer, under `layer.N.NAME`, and replace it.
    pub fn tap(&mut self, name: &str, hidden: &mut Hidden) {
        self.taps.record_in_layer(self.layer, name, hidden);
    }
}
