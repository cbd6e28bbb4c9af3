//! The model families: one file each, shapes and wiring only, and one line here.

mod llama;
mod qwen3;

use kernels::ops::Pairs;
use serde_json::Value;

use crate::config::ModelConfig;
use crate::layers::Decoder;
use crate::weights::{WeightError, Weights};

/// Every family that there is.
pub const FAMILIES: &[Family] = &[llama::FAMILY, qwen3::FAMILY];

/// What distinguishes a family of models from the others.
#[derive(Debug)]
pub struct Family {
    /// Its name in checkpoints: `general.architecture`, `model_type`.
    pub name: &'static str,
    /// The order of rotary pairs after conversion for ggml, which permutes the rows of some families.
    pub converted_pairs: Pairs,
    /// Configuration keys that change nothing here, each with the reason.
    pub ignored: &'static [(&'static str, &'static str)],
    /// Configuration keys of which one value is supported.
    pub fixed: &'static [Fixed],
    /// Takes the parameters and wires the layers.
    pub build: for<'a> fn(&ModelConfig, &mut Weights<'a>) -> Result<Decoder<'a>, WeightError>,
}

/// A configuration key that may not say anything but what this engine computes.
#[derive(Debug)]
pub struct Fixed {
    /// The key.
    pub key: &'static str,
    /// Whether a value is supported.
    pub accepts: fn(&Value) -> bool,
    /// What is supported, for the error.
    pub expected: &'static str,
}

/// The family of that name.
pub fn family_named(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

/// The names of all families.
pub fn family_names() -> Vec<&'static str> {
    FAMILIES.iter().map(|family| family.name).collect()
}

fn is_false(value: &Value) -> bool {
    value.as_bool() == Some(false)
}
