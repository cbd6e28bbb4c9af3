//! What one event of a stream carried, whichever of the three dialects it is in: `/v1/completions`, `/v1/chat/completions`, or
//! llama-server's own `/completion`. [`parse`] asks [`scan`](super::scan()) first and `serde_json` where that is not sure.

use std::borrow::Cow;

use serde_json::Value;

use super::scan;
use super::trace::Usage;

/// Why the server stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The number of tokens asked for was reached.
    Length,
    /// Anything else.
    Other,
}

/// The few things that count in an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The text of the first choice as it stands between the quotes, escapes and all; empty when there is none.
    pub text: Cow<'a, [u8]>,
    /// The token ids of the first choice as they stand between the brackets.
    pub ids: Option<Cow<'a, [u8]>>,
    /// The server's count, if this event has one.
    pub usage: Option<Usage>,
    /// Why the server stopped, if this event says so.
    pub finish: Option<Finish>,
    /// The server's message, if this event is an error.
    pub error: Option<String>,
}

impl Piece<'_> {
    /// How many token ids it carries; `None` when the server sends none.
    pub fn id_count(&self) -> Option<u32> {
        self.ids.as_ref().map(|ids| {
            let commas = memchr::memchr_iter(b',', ids).count() as u32;
            if ids.iter().all(u8::is_ascii_whitespace) { 0 } else { commas + 1 }
        })
    }
}

/// An event whose data is no JSON object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PieceError {
    /// No JSON.
    #[error("an event's data is not JSON: {0}")]
    NotJson(String),
    /// JSON, but no object.
    #[error("an event's data is {0}, expected an object")]
    NotAnObject(&'static str),
}

/// Reads the data of an event.
pub fn parse(data: &[u8]) -> Result<Piece<'_>, PieceError> {
    scan::scan(data).map_or_else(|| parse_whole(data), Ok)
}

/// Reads the data of an event by parsing all of it. Bytes that are no UTF-8 are replaced first, as the standard of event streams says.
pub fn parse_whole(data: &[u8]) -> Result<Piece<'static>, PieceError> {
    let text = String::from_utf8_lossy(data);
    let value: Value =
        serde_json::from_str(&text).map_err(|error| PieceError::NotJson(error.to_string()))?;
    if !value.is_object() {
        return Err(PieceError::NotAnObject(kind(&value)));
    }
    if let Some(message) = error_message(&value) {
        return Ok(Piece { error: Some(message), ..Piece::default() });
    }
    let choice = value.get("choices").and_then(|choices| choices.get(0)).filter(|c| c.is_object());
    let mut piece = Piece::default();
    let texts = |of: &Value, keys: &[&str]| {
        keys.iter()
            .filter_map(|key| of.get(key)?.as_str())
            .find(|text| !text.is_empty())
            .map(quoted)
    };
    if let Some(choice) = choice {
        let delta = choice.get("delta").filter(|delta| delta.is_object());
        piece.text = texts(choice, &["text"])
            .or_else(|| texts(delta?, &scan::DELTA_TEXTS))
            .unwrap_or_default();
        piece.ids = choice.get("token_ids").and_then(ids);
        piece.finish = choice.get("finish_reason").and_then(Value::as_str).map(finish);
    } else if value.get("choices").is_none() {
        piece.text = texts(&value, &["content"]).unwrap_or_default();
        piece.ids = value.get("tokens").and_then(ids);
        piece.finish =
            value.get("stop").and_then(Value::as_bool).filter(|stop| *stop).map(|_| {
                value.get("stop_type").and_then(Value::as_str).map_or(Finish::Other, finish)
            });
    }
    piece.usage = value
        .get("usage")
        .filter(|usage| usage.is_object())
        .and_then(usage)
        .or_else(|| own_usage(&value));
    Ok(piece)
}

/// The word of either dialect for "as many as were asked for".
pub(super) fn finish(reason: &str) -> Finish {
    if matches!(reason, "length" | "limit") { Finish::Length } else { Finish::Other }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The message of `{"error": …}` or of `{"object": "error", "message": …}`.
pub fn error_message(value: &Value) -> Option<String> {
    let error = value.get("error").filter(|error| !error.is_null());
    let is_error = value.get("object").and_then(Value::as_str) == Some("error");
    let holder = match error {
        Some(Value::String(message)) => return Some(message.clone()),
        Some(error) => error,
        None if is_error => value,
        None => return None,
    };
    let message = holder.get("message").and_then(Value::as_str);
    Some(message.map_or_else(|| holder.to_string(), str::to_owned))
}

fn quoted(text: &str) -> Cow<'static, [u8]> {
    let quoted = Value::from(text).to_string();
    Cow::Owned(quoted.as_bytes()[1..quoted.len() - 1].to_vec())
}

fn ids(value: &Value) -> Option<Cow<'static, [u8]>> {
    let ids: Option<Vec<String>> =
        value.as_array()?.iter().map(|id| Some(as_u32(id)?.to_string())).collect();
    Some(Cow::Owned(ids?.join(",").into_bytes()))
}

fn as_u32(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

fn usage(value: &Value) -> Option<Usage> {
    let cached =
        value.get("prompt_tokens_details").and_then(|details| details.get("cached_tokens"));
    Some(Usage {
        prompt_tokens: as_u32(value.get("prompt_tokens")?)?,
        completion_tokens: as_u32(value.get("completion_tokens")?)?,
        cached_tokens: cached.and_then(as_u32),
    })
}

/// llama-server's own count, which every event of its own dialect has.
fn own_usage(value: &Value) -> Option<Usage> {
    Some(Usage {
        prompt_tokens: as_u32(value.get("tokens_evaluated")?)?,
        completion_tokens: as_u32(value.get("tokens_predicted")?)?,
        cached_tokens: None,
    })
}
