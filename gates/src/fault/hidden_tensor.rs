//! Fault: a tensor is neither consumed nor listed, and no total knows of it.

use serde_json::Value;

use super::exchange::change_report;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer, Verb};

pub(super) const FAULT: Fault = Fault {
    name: "hidden-tensor",
    plants: "the last tensor, taken out of both reports and all their totals",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    change_report(question, answer, |report| {
        if question.verb == Verb::Inspect {
            let tensors = report.get_mut("tensors").and_then(Value::as_array_mut);
            drop(tensors.and_then(Vec::pop));
        } else if let Some(slot) = report.pointer_mut("/model/tensors") {
            *slot = slot.as_u64().unwrap_or(1).saturating_sub(1).into();
        }
    });
}
