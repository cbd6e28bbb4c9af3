//! Fault: one token of one answer is another one, far down in the engine's own ranking.

use serde_json::{Value, json};

use super::{Act, Fault, ids_mut, set_id};

pub(super) const FAULT: Fault = Fault {
    name: "swapped-token",
    plants: "one token of the first answer, replaced by one that neither side ranks high",
    act: Act::Answer(plant),
};

#[expect(
    clippy::ptr_arg,
    reason = "the type of every fault on answers; others add and remove lines"
)]
fn plant(lines: &mut Vec<Value>) {
    let Some(line) = lines.iter_mut().find(|line| line.get("ids").is_some()) else { return };
    let Some(middle) = ids_mut(line).map(|ids| ids.len() / 2) else { return };
    let last = line.pointer(&format!("/steps/{middle}/top")).and_then(Value::as_array);
    let last = last.and_then(|top| top.last()).and_then(|entry| entry.get(0)).cloned();
    // A tokenizer's answer has no ranking: any other id will do.
    let old = line.pointer(&format!("/ids/{middle}")).and_then(Value::as_u64).unwrap_or(0);
    set_id(line, middle, &last.unwrap_or_else(|| json!(old + 1)));
}
