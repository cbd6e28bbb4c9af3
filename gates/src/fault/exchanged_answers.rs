//! Fault: two cases carry each other's answer.

use serde_json::Value;

use super::{Act, Fault};

pub(super) const FAULT: Fault = Fault {
    name: "exchanged-answers",
    plants: "the ids of the first two cases, exchanged",
    act: Act::Answer(plant),
};

fn plant(lines: &mut Vec<Value>) {
    let [first, second, ..] = lines.as_mut_slice() else { return };
    if let (Some(a), Some(b)) = (first.get_mut("id"), second.get_mut("id")) {
        std::mem::swap(a, b);
    }
}
