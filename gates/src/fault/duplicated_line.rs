//! Fault: one answer comes twice.

use serde_json::Value;

use super::{Act, Fault};

pub(super) const FAULT: Fault = Fault {
    name: "duplicated-line",
    plants: "the output, with its first line twice",
    act: Act::Answer(plant),
};

fn plant(lines: &mut Vec<Value>) {
    let first = lines.first().cloned();
    lines.extend(first);
}
