//! What the files of a checkpoint's folder say of its tokens, for a server that does not say it.

use std::path::Path;

use serde_json::Value;

/// The tokens of a checkpoint.
#[derive(Debug, Clone)]
pub(super) struct Vocabulary {
    /// Tokens of the model's head.
    pub(super) size: usize,
    /// Texts that the tokenizer reads as one token wherever they stand.
    pub(super) added: Vec<String>,
    /// Tokens that end a generation.
    pub(super) ends: Vec<u32>,
}

impl Vocabulary {
    /// Of the checkpoint in `folder`. What a file does not say is not known: no size is no bound.
    pub(super) fn read(folder: &Path) -> Self {
        let file = |name: &str| -> Value {
            let bytes = std::fs::read(folder.join(name)).unwrap_or_default();
            serde_json::from_slice(&bytes).unwrap_or_default()
        };
        let (config, generation) = (file("config.json"), file("generation_config.json"));
        let size = config.get("vocab_size").or_else(|| config.pointer("/text_config/vocab_size"));
        let tokenizer = file("tokenizer.json");
        let added = tokenizer.get("added_tokens").and_then(Value::as_array).into_iter().flatten();
        let ends = [&config, &generation].into_iter().filter_map(|file| file.get("eos_token_id"));
        Self {
            size: size.and_then(Value::as_u64).map_or(usize::MAX, |size| size as usize),
            added: added
                .filter_map(|token| Some(token.get("content")?.as_str()?.to_owned()))
                .collect(),
            ends: ends.flat_map(ids).collect(),
        }
    }

    /// Whether `text` holds a text that the tokenizer always reads as one token.
    pub(super) fn has_added(&self, text: &str) -> bool {
        self.added.iter().any(|added| text.contains(added.as_str()))
    }
}

/// One id, or a list of them.
fn ids(value: &Value) -> Vec<u32> {
    let one = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    match value.as_array() {
        Some(list) => list.iter().filter_map(one).collect(),
        None => one(value).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_files_say_is_read_and_what_they_do_not_say_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let nothing = Vocabulary::read(folder.path());
        assert_eq!((nothing.size, nothing.ends.len()), (usize::MAX, 0));
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("config.json", r#"{"text_config": {"vocab_size": 320}, "eos_token_id": 2}"#);
        write("generation_config.json", r#"{"eos_token_id": [7, 9]}"#);
        write("tokenizer.json", r#"{"added_tokens": [{"id": 2, "content": "<|end|>"}]}"#);
        let read = Vocabulary::read(folder.path());
        assert_eq!((read.size, read.ends.as_slice()), (320, &[2, 7, 9][..]));
        assert!(read.has_added("a<|end|>") && !read.has_added("end"));
    }
}
