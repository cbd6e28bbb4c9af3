//! Fault: loading holds the weights twice.

use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "double-residency",
    plants: "three times the resident set until the first answer",
    act: Act::Exchange(plant),
};

fn plant(_: &Question, answer: &mut RawAnswer) {
    let first = answer.watch.lines_ms.first().copied().unwrap_or_default();
    let loading = answer.watch.resident.iter_mut().take_while(|sample| sample.at_ms < first);
    loading.for_each(|sample| {
        sample.bytes *= 3;
        sample.high_water_bytes *= 3;
    });
}
