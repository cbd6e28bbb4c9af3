//! What a gate that looks inside the model has to say about a fault: where it is. Red for another reason is not caught.

/// Words of the reason that a gate of this kind gives where the fault is planted; `None` where red is enough.
pub fn words(kinds: &[&str], fault: &str) -> Option<&'static str> {
    let located = LOCATED.iter().find(|(kind, name, _)| kinds.contains(kind) && *name == fault);
    located.map(|(_, _, words)| *words)
}

/// Kind, fault, words.
const LOCATED: [(&str, &str, &str); 28] = [
    ("layers", "perturbed-row", ": layer 2, mlp: relative RMS"),
    ("layers", "swapped-heads", ": layer 1, query: relative RMS"),
    ("layers", "shifted-rope", ": layer 0, query: relative RMS"),
    ("layers", "raised-epsilon", ": layer 0, attention_norm: relative RMS"),
    ("layers", "scaled-values", "times 1.0100"),
    ("layers", "nan-value", ": layer 1, attention_norm: 1 of"),
    ("layers", "shifted-tokens", ": layer 2, attention_norm: relative RMS"),
    ("layers", "misread-values", ": layer 0, attention_norm: "),
    ("layers", "missing-values", ": layer 2, key: is missing"),
    ("layers", "truncated-dump", "no safetensors file"),
    ("activation-fidelity", "perturbed-row", ": layer 2, residual stream: "),
    ("activation-fidelity", "swapped-heads", ": layer 1, residual stream: "),
    ("activation-fidelity", "shifted-rope", ": layer 0, residual stream: "),
    ("activation-fidelity", "raised-epsilon", ": layer 0, residual stream: "),
    ("activation-fidelity", "scaled-values", "times 1.0100"),
    ("activation-fidelity", "nan-value", ": layer 1, residual stream: "),
    ("activation-fidelity", "shifted-tokens", ": layer 2, residual stream: "),
    ("activation-fidelity", "misread-values", ": layer 0, residual stream: "),
    ("activation-fidelity", "missing-values", ": layer 2, residual stream: is missing"),
    ("activation-fidelity", "truncated-dump", "no safetensors file"),
    ("op-golden", "shifted-op-rope", "rope-"),
    ("op-golden", "raised-op-epsilon", "rms-norm"),
    ("op-golden", "other-pairs", "rope-"),
    ("op-golden", "dropped-bias", "linear-bias-"),
    ("op-golden", "unrounded-sums", "add-bf16"),
    ("op-golden", "unknown-op", "there is no operation"),
    ("op-golden", "crossed-groups", "attention-"),
    ("op-golden", "misread-blocks", "embedding-"),
];
