//! Fault: a tensor is read with another shape than the file's.

use super::exchange::change_report;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "misread-shape",
    plants: "one extent of the first tensor, doubled in what the engine reports",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    change_report(question, answer, |report| {
        let extent = report.pointer_mut("/tensors/0/shape/0");
        if let Some((slot, size)) = extent.and_then(|slot| slot.as_u64().map(|size| (slot, size))) {
            *slot = (size * 2).into();
        }
    });
}
