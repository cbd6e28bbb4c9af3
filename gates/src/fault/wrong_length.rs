//! Fault: the engine is asked for one token less.

use oracles::golden::GoldenCase;
use serde_json::{Value, json};

use super::{Act, Fault};

pub(super) const FAULT: Fault = Fault {
    name: "wrong-length",
    plants: "max_tokens, one less than the spec says",
    act: Act::Request(plant),
};

fn plant(_: &[GoldenCase], lines: &mut Vec<Value>) {
    for line in lines {
        if let Some(length) = line.get("max_tokens").and_then(Value::as_u64) {
            line["max_tokens"] = json!(length.saturating_sub(1));
        }
    }
}
