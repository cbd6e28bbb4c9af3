//! What each kind of checkpoint calls a parameter: the one place that knows.

use crate::checkpoint::Checkpoint;

/// What a parameter does in a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Token id to residual stream.
    Embedding,
    /// The norm before the head.
    FinalNorm,
    /// Residual stream to logits.
    Head,
    /// The norm before attention.
    AttentionNorm,
    /// Residual stream to query heads.
    Query,
    /// Residual stream to key heads.
    Key,
    /// Residual stream to value heads.
    Value,
    /// Attended heads to residual stream.
    AttentionOutput,
    /// The norm of each query head.
    QueryNorm,
    /// The norm of each key head.
    KeyNorm,
    /// The norm before the feed-forward network.
    MlpNorm,
    /// Its gate projection.
    Gate,
    /// Its up projection.
    Up,
    /// Its down projection.
    Down,
}

/// Role, name in a GGUF file, name in a Hugging Face checkpoint.
const NAMES: [(Role, &str, &str); 14] = [
    (Role::Embedding, "token_embd", "model.embed_tokens"),
    (Role::FinalNorm, "output_norm", "model.norm"),
    (Role::Head, "output", "lm_head"),
    (Role::AttentionNorm, "attn_norm", "input_layernorm"),
    (Role::Query, "attn_q", "self_attn.q_proj"),
    (Role::Key, "attn_k", "self_attn.k_proj"),
    (Role::Value, "attn_v", "self_attn.v_proj"),
    (Role::AttentionOutput, "attn_output", "self_attn.o_proj"),
    (Role::QueryNorm, "attn_q_norm", "self_attn.q_norm"),
    (Role::KeyNorm, "attn_k_norm", "self_attn.k_norm"),
    (Role::MlpNorm, "ffn_norm", "post_attention_layernorm"),
    (Role::Gate, "ffn_gate", "mlp.gate_proj"),
    (Role::Up, "ffn_up", "mlp.up_proj"),
    (Role::Down, "ffn_down", "mlp.down_proj"),
];

/// The name of a tensor in `checkpoint`; `kind` is `weight` or `bias`.
pub(super) fn tensor_name(
    checkpoint: &Checkpoint,
    role: Role,
    layer: Option<usize>,
    kind: &str,
) -> String {
    let (_, gguf, hugging_face) = NAMES[role as usize];
    let (prefix, name) = match checkpoint {
        Checkpoint::Gguf(_) => ("blk", gguf),
        Checkpoint::Safetensors(_) => ("model.layers", hugging_face),
    };
    match layer {
        Some(layer) => format!("{prefix}.{layer}.{name}.{kind}"),
        None => format!("{name}.{kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::NAMES;

    #[test]
    fn the_table_is_in_the_order_of_the_roles() {
        for (index, (role, ..)) in NAMES.iter().enumerate() {
            assert_eq!(*role as usize, index);
        }
    }
}
