//! A tokenizer for clients that insist on one: a thousand words and one for all others, a token a word, no special tokens. What
//! they count with it is not used: each is told to take the server's count, or asks for a length and gets it.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::ClientsError;
use super::series::write;

/// Words of its own.
const WORDS: u32 = 1000;

/// Writes it in Hugging Face's format.
pub fn make(folder: &Path) -> Result<(), ClientsError> {
    let source = |source| ClientsError::File { path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(source)?;
    write(&folder.join("tokenizer.json"), &document())?;
    let config =
        json!({"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 1_000_000});
    write(&folder.join("tokenizer_config.json"), &config)?;
    // Without it some look for a model of that name on the network.
    write(&folder.join("config.json"), &json!({"model_type": "llama", "vocab_size": WORDS + 1}))
}

fn document() -> Value {
    let word = |id: u32| if id == 0 { "<other>".to_owned() } else { format!("word{id}") };
    let vocabulary: Map<String, Value> = (0..=WORDS).map(|id| (word(id), json!(id))).collect();
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": null,
        "decoder": null,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<other>"},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_an_id_and_the_unknown_one_is_among_them() {
        let document = document();
        let vocabulary = document["model"]["vocab"].as_object().unwrap();
        assert_eq!(vocabulary.len(), 1001);
        let unknown = document["model"]["unk_token"].as_str().unwrap();
        assert_eq!((&vocabulary[unknown], &vocabulary["word1000"]), (&json!(0), &json!(1000)));
    }
}
