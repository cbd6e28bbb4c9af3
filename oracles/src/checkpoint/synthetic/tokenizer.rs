//! The tokenizer of synthetic checkpoints: one token a byte, and three specials.

use serde_json::{Map, Value, json};

/// `<|endoftext|>`: begins and ends a text.
pub(super) const END_OF_TEXT: u64 = 256;
/// `<|im_start|>`: begins a message.
const IM_START: u64 = 257;
/// `<|im_end|>`: ends a message.
pub(super) const IM_END: u64 = 258;
/// Tokens in all.
pub(super) const SIZE: u64 = 259;

const SPECIALS: [(u64, &str); 3] =
    [(END_OF_TEXT, "<|endoftext|>"), (IM_START, "<|im_start|>"), (IM_END, "<|im_end|>")];

/// The printable character that stands for a byte in byte-level vocabularies: a printable Latin-1
/// byte stands for itself, the others take the characters from U+0100 on, in order (GPT-2's
/// `bytes_to_unicode`).
fn stand_in(byte: u8) -> char {
    let printable = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    if printable(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|other| !printable(*other)).count();
    char::from_u32(0x100 + before as u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// `tokenizer.json`: byte-level BPE without merges, so id = byte.
pub(super) fn tokenizer() -> Value {
    let vocabulary: Map<String, Value> =
        (0..=255).map(|byte: u8| (stand_in(byte).to_string(), json!(byte))).collect();
    let added: Vec<Value> = SPECIALS
        .iter()
        .map(|(id, content)| {
            json!({"id": id, "content": content, "single_word": false, "lstrip": false,
                   "rstrip": false, "normalized": false, "special": true})
        })
        .collect();
    let byte_level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": null,
        "pre_tokenizer": byte_level,
        "post_processor": null,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": null,
            "unk_token": null,
            "continuing_subword_prefix": null,
            "end_of_word_suffix": null,
            "fuse_unk": false,
            "byte_fallback": false,
            "vocab": vocabulary,
            "merges": [],
        },
    })
}

/// `tokenizer_config.json`, with a ChatML template.
pub(super) fn tokenizer_config() -> Value {
    let template = "{% for message in messages %}<|im_start|>{{ message['role'] }}\n\
                    {{ message['content'] }}<|im_end|>\n{% endfor %}\
                    {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": false,
        "bos_token": "<|endoftext|>",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "clean_up_tokenization_spaces": false,
        "model_max_length": 1_000_000,
        "chat_template": template,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Values of GPT-2's published table: space, newline, NUL, soft hyphen, and 'A'.
    #[test]
    fn bytes_stand_as_in_gpt2() {
        let expected = [(b' ', 'Ġ'), (b'\n', 'Ċ'), (0, 'Ā'), (0xad, 'Ń'), (b'A', 'A'), (0xff, 'ÿ')];
        for (byte, character) in expected {
            assert_eq!(stand_in(byte), character);
        }
        let all: BTreeSet<char> = (0..=255).map(stand_in).collect();
        assert_eq!(all.len(), 256);
    }
}
