//! Fault: a value is not written.

use super::values::change;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "missing-values",
    plants: "layer 2's key and residual stream, or an operation's output, left out",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    const LEFT_OUT: [&str; 4] = ["layer.2.key", "layer.2", "out", "ids"];
    change(question, answer, |tensors| {
        tensors.0.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
    });
}
