//! Fault: the last token of one answer is cut off.

use serde_json::Value;

use super::{Act, Fault, ids_mut};

pub(super) const FAULT: Fault = Fault {
    name: "truncated-run",
    plants: "the last answer, cut by one token",
    act: Act::Answer(plant),
};

#[expect(
    clippy::ptr_arg,
    reason = "the type of every fault on answers; others add and remove lines"
)]
fn plant(lines: &mut Vec<Value>) {
    let cut = |line: &&mut Value| {
        line.get("ids").and_then(Value::as_array).is_some_and(|ids| !ids.is_empty())
    };
    let Some(line) = lines.iter_mut().rev().find(cut) else { return };
    if let Some(ids) = ids_mut(line) {
        ids.pop();
    }
    if let Some(steps) = line.get_mut("steps").and_then(Value::as_array_mut) {
        steps.pop();
    }
}
