//! Fault: one answer is missing.

use serde_json::Value;

use super::{Act, Fault};

pub(super) const FAULT: Fault = Fault {
    name: "dropped-line",
    plants: "the output, without its last line",
    act: Act::Answer(plant),
};

fn plant(lines: &mut Vec<Value>) {
    lines.pop();
}
