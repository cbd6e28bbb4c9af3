//! Questions that are answered with tensors.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TensorQuestion {
    /// Values inside the model, a row a token, under the names of the engine's taps.
    Inside(InsideQuestion),
    /// One operation on drawn inputs: `inputs.NAME` and `outputs.NAME`.
    Op(OpQuestion),
}

/// A forward pass whose values are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InsideQuestion {
    /// The text of the ids.
    pub text: String,
    /// The tokens to run.
    pub ids: Vec<u32>,
    /// Whether values inside a layer are wanted, beside what goes from layer to layer.
    pub within_layers: bool,
}

/// An operation, and the inputs to draw for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpQuestion {
    /// The operation's name, such as `rms-norm`.
    pub op: String,
    /// The type of activations, as PyTorch names it.
    pub dtype: String,
    /// What decides the inputs' shapes alone.
    pub sizes: BTreeMap<String, Value>,
    /// The operation's constants, which the engine is given too.
    pub args: BTreeMap<String, Value>,
    /// The seed of the inputs.
    pub seed: u64,
}
