//! Prompts as text, from JSON lines, for servers that take no ids: `{"text": "…", "prompt_tokens": 12, "output_tokens": 64}`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::workload::WorkloadError;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextItem {
    /// The prompt.
    pub text: String,
    /// Tokens that it is meant to be for the model's tokenizer; what the server says decides.
    pub prompt_tokens: u32,
    /// Tokens of the answer.
    pub output_tokens: u32,
}

/// Reads a file of [`TextItem`]s.
pub fn read(path: &Path) -> Result<Vec<TextItem>, WorkloadError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|source| WorkloadError::Read { path: name.clone(), source })?;
    lines(&name, &text)
}

/// Reads lines of JSON; an empty file is refused, since fewer requests than asked for are another workload.
pub(super) fn lines<T: serde::de::DeserializeOwned>(
    path: &str,
    text: &str,
) -> Result<Vec<T>, WorkloadError> {
    let broken =
        |line: usize, reason: String| WorkloadError::Line { path: path.to_owned(), line, reason };
    let parsed: Vec<T> = text
        .lines()
        .enumerate()
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| broken(index + 1, error.to_string()))
        })
        .collect::<Result<_, _>>()?;
    if parsed.is_empty() {
        return Err(broken(1, "the file is empty, expected one object a line".to_owned()));
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lines_and_points_at_the_broken_one() {
        let good = r#"{"text": "a\nb", "prompt_tokens": 3, "output_tokens": 4}"#;
        let parsed: Vec<TextItem> = lines("x.jsonl", good).unwrap();
        assert_eq!((parsed[0].text.as_str(), parsed[0].output_tokens), ("a\nb", 4));
        let unknown = format!("{good}\n{}", good.replace("text", "txt"));
        let error = lines::<TextItem>("x.jsonl", &unknown).unwrap_err().to_string();
        assert!(error.starts_with("x.jsonl:2: unknown field `txt`"), "{error}");
        assert!(lines::<TextItem>("x.jsonl", "").is_err());
        assert!(read(Path::new("/nowhere/x.jsonl")).is_err());
    }
}
