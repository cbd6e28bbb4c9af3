//! What a client printed, as numbers in milliseconds. A number that is not there is not there.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::spec::{Key, SaidSpec, Unit};

/// The numbers of a leg, as its client has them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// Requests that it counts as whole.
    pub completed: f64,
    /// Output tokens a second.
    pub tokens_per_s: f64,
    /// Median TTFT.
    pub ttft_ms_p50: f64,
    /// Its 99th percentile.
    pub ttft_ms_p99: f64,
    /// Median gap, by the client's own rule.
    pub itl_ms_p50: f64,
    /// Its 99th percentile.
    pub itl_ms_p99: f64,
}

/// Something that a client did not say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsaid {
    /// Its output is no JSON.
    #[error("its output is no JSON: {0}")]
    Json(String),
    /// Nothing stands there, or no number.
    #[error("its output has no number at {0}")]
    Number(String),
}

/// The document of an output: the last one, where there are several lines. `NaN` and `Infinity`, which Python writes though JSON
/// has neither, are nothing.
pub fn document(text: &str) -> Result<Value, Unsaid> {
    let text = without_unnumbers(text);
    let documents = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let all: Result<Vec<Value>, _> = documents.collect();
    let last = all.map_err(|error| Unsaid::Json(error.to_string()))?.pop();
    last.ok_or_else(|| Unsaid::Json("it is empty".to_owned()))
}

/// The text with `null` for each `NaN`, `Infinity` and `-Infinity` that is not inside a string.
fn without_unnumbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut is_string) = (text, false);
    while let Some(first) = rest.chars().next() {
        let word = ["NaN", "-Infinity", "Infinity"].iter().find(|word| rest.starts_with(**word));
        let taken = match (is_string, word) {
            (false, Some(word)) => {
                out += "null";
                word.len()
            }
            // What is escaped inside a string does not end it.
            (true, _) if first == '\\' => {
                let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                out += &rest[..length];
                length
            }
            _ => {
                is_string ^= first == '"';
                out.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    out
}

/// The number at a key, times in milliseconds.
pub fn number(document: &Value, key: &Key) -> Result<f64, Unsaid> {
    let number = document.pointer(&key.at).and_then(Value::as_f64);
    let number = number.ok_or_else(|| Unsaid::Number(key.at.clone()))?;
    Ok(match key.unit {
        Unit::Ms => number,
        Unit::Ns => number / 1e6,
        Unit::S => number * 1e3,
    })
}

/// All numbers of a leg.
pub fn said(document: &Value, keys: &SaidSpec) -> Result<Said, Unsaid> {
    Ok(Said {
        completed: number(document, &keys.completed)?,
        tokens_per_s: number(document, &keys.tokens_per_s)?,
        ttft_ms_p50: number(document, &keys.ttft_p50)?,
        ttft_ms_p99: number(document, &keys.ttft_p99)?,
        itl_ms_p50: number(document, &keys.itl_p50)?,
        itl_ms_p99: number(document, &keys.itl_p99)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(at: &str, unit: Unit) -> Key {
        Key { at: at.to_owned(), unit }
    }

    #[test]
    fn units_are_told_apart_and_the_last_line_counts() {
        let document = document("{\"a\": 1}\n{\"a\": {\"p50\": 20.5}, \"b\": null}\n").unwrap();
        let at = |unit| number(&document, &key("/a/p50", unit)).unwrap();
        let all = [Unit::Ms, Unit::Ns, Unit::S].map(at);
        for (found, expected) in all.into_iter().zip([20.5, 20.5e-6, 20_500.0]) {
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
    }

    #[test]
    fn nothing_is_no_number() {
        let document = document("{\"a\": null, \"b\": \"20\"}").unwrap();
        for at in ["/a", "/b", "/c"] {
            let expected = Err(Unsaid::Number(at.to_owned()));
            assert_eq!(number(&document, &key(at, Unit::Ms)), expected);
        }
        assert!(matches!(super::document(""), Err(Unsaid::Json(_))));
        assert!(matches!(super::document("{\"a\": nan}"), Err(Unsaid::Json(_))));
    }

    #[test]
    fn what_python_writes_for_no_number_is_none() {
        let text =
            r#"{"rate": Infinity, "low": -Infinity, "p99": NaN, "said": "a \" NaN \\", "n": 5}"#;
        let document = document(text).unwrap();
        let expected = serde_json::json!(
            {"rate": null, "low": null, "p99": null, "said": "a \" NaN \\", "n": 5}
        );
        assert_eq!(document, expected);
        assert!(number(&document, &key("/p99", Unit::Ms)).is_err());
    }
}
