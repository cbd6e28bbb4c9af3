//! Fault: a tensor of the file is not consumed.

use super::exchange::change_report;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "forgotten-tensor",
    plants: "one consumed tensor fewer in what the engine reports",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    change_report(question, answer, |report| {
        let tensors = report.pointer_mut("/model/tensors");
        if let Some((slot, count)) =
            tensors.and_then(|slot| slot.as_u64().map(|count| (slot, count)))
        {
            *slot = (count - 1).into();
        }
    });
}
