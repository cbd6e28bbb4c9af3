//! The prompts of a completion: texts or token ids, one or several.

use serde_json::Value;

use super::app::App;
use super::error::ApiError;

/// A prompt, as text where it came as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) ids: Vec<u32>,
    pub(super) text: Option<String>,
}

/// Reads the field `prompt`.
pub(super) fn prompts(
    app: &App,
    value: Option<&Value>,
    add_special: bool,
) -> Result<Vec<Prompt>, ApiError> {
    let wrong = || {
        let message = "prompt must be a string, a list of strings, a list of token ids, or a list of lists of token ids";
        ApiError::field("prompt", message)
    };
    let encode = |text: &str| {
        let ids = app.tokenizer()?.encode(text, add_special, true);
        let ids = ids.map_err(|error| ApiError::field("prompt", error.to_string()))?;
        Ok(Prompt { ids, text: Some(text.to_owned()) })
    };
    let given = |ids: &[Value]| {
        let ids = ids.iter().map(|id| app.token_id("prompt", id));
        Ok(Prompt { ids: ids.collect::<Result<_, ApiError>>()?, text: None })
    };
    let prompts: Result<Vec<Prompt>, ApiError> = match value {
        Some(Value::String(text)) if !text.is_empty() => Ok(vec![encode(text)?]),
        Some(Value::Array(list)) => match list.first() {
            Some(Value::Number(_)) => Ok(vec![given(list)?]),
            _ => list
                .iter()
                .map(|one| match one {
                    Value::String(text) => encode(text),
                    Value::Array(ids) => given(ids),
                    _ => Err(wrong()),
                })
                .collect(),
        },
        _ => Err(wrong()),
    };
    let prompts = prompts?;
    if prompts.is_empty() || prompts.iter().any(|prompt| prompt.ids.is_empty()) {
        return Err(ApiError::field("prompt", "a prompt has no tokens; give at least one"));
    }
    Ok(prompts)
}
