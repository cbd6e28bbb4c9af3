//! Counts of tokens, as they are told.

use serde_json::{Value, json};

/// Tokens read and generated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) prompt: usize,
    pub(super) completion: usize,
}

impl Usage {
    /// As in a stream.
    pub(super) fn brief(self) -> Value {
        json!({
            "prompt_tokens": self.prompt,
            "total_tokens": self.prompt + self.completion,
            "completion_tokens": self.completion,
        })
    }

    /// As in a whole answer.
    pub(super) fn full(self) -> Value {
        let mut usage = self.brief();
        usage["prompt_tokens_details"] = Value::Null;
        usage
    }
}
