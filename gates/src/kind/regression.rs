//! Kind `regression`: inputs that once failed, each with the answer that it must have now.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::alone::{Exchange, Failure, Findings, lines_by_id};
use super::token_exact::{Parting, first_divergence};
use crate::words::count;

/// The kind's name in specs and records.
pub const NAME: &str = "regression";

/// What it judges, in words.
pub const EXPLANATION: &str = "each listed request that once was answered wrongly is answered with the ids that stand beside it, or \
    refused with the code that stands there; the list says why each is on it";

/// What a listed request must come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// These generated ids.
    Ids(Vec<u32>),
    /// An error object with this code.
    Refused(String),
}

/// The list's expectations, and what came back.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegressionSample {
    /// By id, in the order of the requests.
    pub expected: Vec<(String, Expected)>,
    /// All of them, in one process.
    pub exchange: Exchange,
}

/// Every line of the list against the answer with its id.
pub fn judge(sample: &RegressionSample) -> Findings {
    let lines = lines_by_id(&sample.exchange);
    let refusals =
        sample.expected.iter().any(|(_, expected)| matches!(expected, Expected::Refused(_)));
    let status = if refusals { 2 } else { 0 };
    let mut failures: Vec<Failure> = sample
        .expected
        .iter()
        .filter_map(|(id, expected)| difference(id, expected, &lines))
        .collect();
    if failures.is_empty() && sample.exchange.answer.exit != Some(status) {
        let found =
            sample.exchange.answer.exit.map_or("a signal".to_owned(), |code| code.to_string());
        failures.push(Failure::new("the process", format!("ends with {found}, not {status}")));
    }
    let asked = sample.expected.len();
    let summary = format!("{} that once failed", count(asked, "input", "inputs"));
    Findings::of(asked, failures, summary)
}

fn difference(
    id: &str,
    expected: &Expected,
    lines: &BTreeMap<Option<String>, Vec<&str>>,
) -> Option<Failure> {
    let failed = |what: String| Some(Failure::new(id, what));
    let line = match lines.get(&Some(id.to_owned())).map(Vec::as_slice) {
        Some([line]) => serde_json::from_str(line).unwrap_or(Value::Null),
        Some(several) => return failed(format!("was answered {} times", several.len())),
        None => return failed("was not answered".to_owned()),
    };
    let code = line.pointer("/error/code").and_then(Value::as_str);
    match (expected, code) {
        (Expected::Refused(expected), Some(code)) if expected == code => None,
        (Expected::Refused(expected), Some(code)) => {
            failed(format!("is refused with {code}, not {expected}"))
        }
        (Expected::Refused(expected), None) => {
            failed(format!("is answered, not refused with {expected}"))
        }
        (Expected::Ids(_), Some(code)) => failed(format!("is refused with {code}")),
        (Expected::Ids(expected), None) => {
            let ids = line.get("ids").and_then(|ids| Vec::<u32>::deserialize(ids).ok());
            let Some(ids) = ids else { return failed("is answered without ids".to_owned()) };
            match first_divergence(expected, &ids) {
                Parting::Nowhere => None,
                Parting::At(at) => failed(format!(
                    "parts at token {}: {} where {} is expected",
                    at.index, at.found, at.expected
                )),
                Parting::Length { expected, found } => {
                    failed(format!("has {found} tokens where {expected} are expected"))
                }
            }
        }
    }
}
