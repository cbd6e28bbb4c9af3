//! A gate's inputs: `gates/inputs/NAME.jsonl`, one case a line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use oracles::verbs::Message;
use serde::Deserialize;

/// What a case asks.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A text: to continue in a generation gate, to tokenise in a tokenizer gate.
    Text {
        /// The text.
        text: String,
        /// Read special tokens in it as such.
        parse_special: bool,
    },
    /// A conversation, rendered by the checkpoint's template.
    Messages(Vec<Message>),
}

/// One case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Unique name.
    pub id: String,
    /// What it asks.
    pub input: Input,
}

/// All cases with the digest of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// SHA-256 of the file's bytes, in hex: a golden carries the one it answered.
    pub sha256: String,
    /// In file order.
    pub cases: Vec<Case>,
}

/// Why a workload could not be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The file could not be read.
    #[error("cannot read the inputs {path}")]
    Read {
        /// Relative to the workspace root.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A line is no case.
    #[error("{path}:{line}: {reason}")]
    Line {
        /// Relative to the workspace root.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// No case at all, which could only be compared vacuously.
    #[error("{path} holds no case")]
    Empty {
        /// Relative to the workspace root.
        path: PathBuf,
    },
    /// A case named elsewhere is not there.
    #[error("{path} has no case `{id}`, which [prove] cases names")]
    NoSuchCase {
        /// Relative to the workspace root.
        path: PathBuf,
        /// The id.
        id: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    text: Option<String>,
    messages: Option<Vec<Message>>,
    parse_special: Option<bool>,
}

/// Reads `path`, relative to `root`.
pub fn read(root: &Path, path: &Path) -> Result<Workload, WorkloadError> {
    let (sha256, cases) = read_lines(root, path, |line| {
        let case = parse_line(line)?;
        Ok((case.id.clone(), case))
    })?;
    Ok(Workload { sha256, cases })
}

/// The lines of `path` that are not blank, at least one, each read by `parse` to its id, which no other line has, and its value;
/// and the SHA-256 of the file.
pub fn read_lines<T>(
    root: &Path,
    path: &Path,
    parse: impl Fn(&str) -> Result<(String, T), String>,
) -> Result<(String, Vec<T>), WorkloadError> {
    let text = std::fs::read_to_string(root.join(path))
        .map_err(|source| WorkloadError::Read { path: path.to_owned(), source })?;
    let mut seen = BTreeSet::new();
    let mut values = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let value = parse(line).and_then(|(id, value)| {
            let twice = format!("the id `{id}` occurs twice");
            if seen.insert(id) { Ok(value) } else { Err(twice) }
        });
        let wrong = |reason| WorkloadError::Line { path: path.to_owned(), line: index + 1, reason };
        values.push(value.map_err(wrong)?);
    }
    if values.is_empty() {
        return Err(WorkloadError::Empty { path: path.to_owned() });
    }
    Ok((oracles::digest::sha256_bytes(text.as_bytes()), values))
}

/// The cases named in `ids`, all of them when it is empty.
pub fn subset(workload: &Workload, path: &Path, ids: &[String]) -> Result<Workload, WorkloadError> {
    if ids.is_empty() {
        return Ok(workload.clone());
    }
    let find = |id: &String| {
        workload
            .cases
            .iter()
            .find(|case| &case.id == id)
            .cloned()
            .ok_or_else(|| WorkloadError::NoSuchCase { path: path.to_owned(), id: id.clone() })
    };
    let cases = ids.iter().map(find).collect::<Result<_, _>>()?;
    Ok(Workload { sha256: workload.sha256.clone(), cases })
}

fn parse_line(line: &str) -> Result<Case, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let input = match (line.text, line.messages, line.parse_special) {
        (Some(text), None, special) => {
            Input::Text { text, parse_special: special.unwrap_or(false) }
        }
        (None, Some(messages), None) if !messages.is_empty() => Input::Messages(messages),
        _ => {
            return Err(
                "needs exactly one of `text` (with `parse_special` at will) and `messages`".into(),
            );
        }
    };
    Ok(Case { id: line.id, input })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Workload, WorkloadError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("cases.jsonl"), text).unwrap();
        read(folder.path(), Path::new("cases.jsonl"))
    }

    #[test]
    fn texts_and_conversations_are_read_in_order() {
        let workload = read_text(
            "{\"id\":\"a\",\"text\":\"one\"}\n\n{\"id\":\"b\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n",
        )
        .unwrap();
        assert_eq!(workload.cases.len(), 2);
        assert_eq!(
            workload.cases[0].input,
            Input::Text { text: "one".into(), parse_special: false }
        );
        assert!(
            matches!(&workload.cases[1].input, Input::Messages(messages) if messages.len() == 1)
        );
    }

    #[test]
    fn bad_lines_are_refused_with_their_number() {
        let messages: Vec<String> = [
            "{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"a\",\"text\":\"y\"}\n",
            "{\"id\":\"a\"}\n",
            "{\"id\":\"a\",\"text\":\"x\",\"messages\":[]}\n",
            "{\"id\":\"a\",\"txet\":\"x\"}\n",
            "not json\n",
            "\n",
        ]
        .iter()
        .map(|text| read_text(text).unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(messages.join("\n"));
    }

    #[test]
    fn a_subset_names_what_is_missing() {
        let workload = read_text("{\"id\":\"a\",\"text\":\"one\"}\n").unwrap();
        let path = Path::new("cases.jsonl");
        assert_eq!(subset(&workload, path, &[]).unwrap(), workload);
        assert_eq!(
            subset(&workload, path, &["z".into()]).unwrap_err().to_string(),
            "cases.jsonl has no case `z`, which [prove] cases names"
        );
    }
}
