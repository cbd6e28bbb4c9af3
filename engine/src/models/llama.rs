//! Llama (Touvron et al. 2023) and its many relatives: SmolLM2, TinyLlama, Mistral-shaped fine-tunes.

use kernels::ops::Pairs;

use super::{Family, Fixed, is_false};
use crate::config::ModelConfig;
use crate::layers::{Attention, Block, Decoder, Embedding, GatedMlp, Head, RmsNorm};
use crate::weights::{Role, WeightError, Weights};

pub(super) const FAMILY: Family = Family {
    name: "llama",
    converted_pairs: Pairs::Adjacent,
    ignored: &[("is_llama_config", "a mark of the program that wrote the file")],
    fixed: &[
        Fixed { key: "mlp_bias", accepts: is_false, expected: "false" },
        Fixed { key: "pretraining_tp", accepts: |value| value.as_u64() == Some(1), expected: "1" },
        Fixed { key: "rope_interleaved", accepts: is_false, expected: "false" },
    ],
    build,
};

fn build<'a>(config: &ModelConfig, weights: &mut Weights<'a>) -> Result<Decoder<'a>, WeightError> {
    let norm = |role, weights: &mut Weights<'a>| {
        RmsNorm::load(weights, role, config.hidden, config.norm_eps)
    };
    let embedding = Embedding::load(weights, config.vocabulary, config.hidden)?;
    // Grows with the tensors that are there: the count is a claim of the file.
    let mut blocks = Vec::new();
    for layer in 0..config.layers {
        weights.enter_layer(layer);
        blocks.push(Block {
            attention_norm: norm(Role::AttentionNorm, weights)?,
            attention: Attention::load(weights, config)?,
            mlp_norm: norm(Role::MlpNorm, weights)?,
            mlp: GatedMlp::load(weights, config.hidden, config.intermediate)?,
        });
    }
    weights.leave_layers();
    let norm = norm(Role::FinalNorm, weights)?;
    let head = Head::load(weights, &embedding, config)?;
    Ok(Decoder { embedding, blocks, norm, head })
}
