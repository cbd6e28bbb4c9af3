//! Fault: a log-probability is no number, which JSON writes as null.

use serde_json::Value;

use super::{Act, Fault};

pub(super) const FAULT: Fault = Fault {
    name: "nan-logprob",
    plants: "NaN in place of the last log-probability of the first answer",
    act: Act::Answer(plant),
};

#[expect(
    clippy::ptr_arg,
    reason = "the type of every fault on answers; others add and remove lines"
)]
fn plant(lines: &mut Vec<Value>) {
    let steps = lines.iter_mut().find_map(|line| line.get_mut("steps")?.as_array_mut());
    if let Some(step) = steps.and_then(|steps| steps.last_mut()) {
        step["logprob"] = Value::Null;
    }
}
