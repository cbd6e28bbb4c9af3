//! Qwen3, dense (Yang et al. 2025): Llama's block with a norm on every query and key head.

use kernels::ops::Pairs;
use serde_json::Value;

use super::{Family, Fixed, is_false};
use crate::config::ModelConfig;
use crate::layers::{Attention, Block, Decoder, Embedding, GatedMlp, Head, RmsNorm};
use crate::weights::{Role, WeightError, Weights};

pub(super) const FAMILY: Family = Family {
    name: "qwen3",
    converted_pairs: Pairs::Halves,
    ignored: &[
        ("max_window_layers", "read only where use_sliding_window is true"),
        ("sliding_window", "read only where use_sliding_window is true"),
    ],
    fixed: &[
        Fixed { key: "use_sliding_window", accepts: is_false, expected: "false" },
        Fixed {
            key: "layer_types",
            accepts: all_full_attention,
            expected: "\"full_attention\" for every layer",
        },
    ],
    build,
};

fn all_full_attention(value: &Value) -> bool {
    value.as_array().is_some_and(|layers| layers.iter().all(|layer| layer == "full_attention"))
}

fn build<'a>(config: &ModelConfig, weights: &mut Weights<'a>) -> Result<Decoder<'a>, WeightError> {
    let norm = |role, width, weights: &mut Weights<'a>| {
        RmsNorm::load(weights, role, width, config.norm_eps)
    };
    let embedding = Embedding::load(weights, config.vocabulary, config.hidden)?;
    // Grows with the tensors that are there: the count is a claim of the file.
    let mut blocks = Vec::new();
    for layer in 0..config.layers {
        weights.enter_layer(layer);
        blocks.push(Block {
            attention_norm: norm(Role::AttentionNorm, config.hidden, weights)?,
            attention: Attention::load(weights, config)?.with_head_norms(
                norm(Role::QueryNorm, config.head_dim, weights)?,
                norm(Role::KeyNorm, config.head_dim, weights)?,
            ),
            mlp_norm: norm(Role::MlpNorm, config.hidden, weights)?,
            mlp: GatedMlp::load(weights, config.hidden, config.intermediate)?,
        });
    }
    weights.leave_layers();
    let norm = norm(Role::FinalNorm, config.hidden, weights)?;
    let head = Head::load(weights, &embedding, config)?;
    Ok(Decoder { embedding, blocks, norm, head })
}
