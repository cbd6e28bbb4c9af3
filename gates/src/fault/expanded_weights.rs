//! Fault: compressed blocks are silently expanded as they are loaded.

use super::exchange::change_report;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "expanded-weights",
    plants: "four times the resident bytes that the engine reports",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    change_report(question, answer, |report| {
        let resident = report.pointer_mut("/model/resident_bytes");
        if let Some((slot, bytes)) =
            resident.and_then(|slot| slot.as_u64().map(|bytes| (slot, bytes)))
        {
            *slot = (bytes * 4).into();
        }
    });
}
