//! The list of a regression gate: inputs that once failed, one JSON object a line.
//!
//! `{"id", "request", "ids" | "refused", "because"}`: the request as `plumb generate --json-lines` reads it, without its id; the
//! generated ids, or the code of the error, that it must come to; and what once went wrong.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::kind::regression::Expected;
use crate::spec::Because;
use crate::workload::{self, WorkloadError};

/// One input.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// Unique name.
    pub id: String,
    /// The request, its id in it.
    pub request: Map<String, Value>,
    /// What it must come to.
    pub expected: Expected,
    /// What once went wrong.
    pub because: Because,
}

/// All inputs with the digest of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Regressions {
    /// SHA-256 of the file's bytes, in hex.
    pub sha256: String,
    /// In file order.
    pub cases: Vec<Regression>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    request: Map<String, Value>,
    ids: Option<Vec<u32>>,
    refused: Option<String>,
    because: Because,
}

/// Reads `path`, relative to `root`.
pub fn read(root: &Path, path: &Path) -> Result<Regressions, WorkloadError> {
    let (sha256, cases) = workload::read_lines(root, path, |line| {
        let case = parse_line(line)?;
        Ok((case.id.clone(), case))
    })?;
    Ok(Regressions { sha256, cases })
}

fn parse_line(line: &str) -> Result<Regression, String> {
    let Line { id, mut request, ids, refused, because } =
        serde_json::from_str(line).map_err(|error| error.to_string())?;
    let expected = match (ids, refused) {
        (Some(ids), None) if !ids.is_empty() => Expected::Ids(ids),
        (None, Some(code)) if !code.is_empty() => Expected::Refused(code),
        _ => return Err("needs exactly one of `ids` and `refused`, and it cannot be empty".into()),
    };
    if request.insert("id".to_owned(), id.clone().into()).is_some() {
        return Err("the request has an `id` of its own: it stands before the request".into());
    }
    Ok(Regression { id, request, expected, because })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_why_and_what_must_come() {
        let line = r#"{"id":"a","request":{"prompt":"x"},"ids":[1],"because":"it was 2"}"#;
        let case = parse_line(line).unwrap();
        assert_eq!(case.expected, Expected::Ids(vec![1]));
        assert_eq!(case.request["id"], "a");
        for wrong in [
            r#"{"id":"a","request":{},"ids":[1],"because":" "}"#,
            r#"{"id":"a","request":{},"ids":[1],"refused":"x","because":"y"}"#,
            r#"{"id":"a","request":{},"ids":[],"because":"y"}"#,
            r#"{"id":"a","request":{},"because":"y"}"#,
            r#"{"id":"a","request":{"id":"b"},"ids":[1],"because":"y"}"#,
            r#"{"id":"a","request":{},"ids":[1],"becuase":"y"}"#,
        ] {
            assert!(parse_line(wrong).is_err(), "{wrong}");
        }
    }
}
