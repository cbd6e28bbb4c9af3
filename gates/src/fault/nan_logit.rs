//! Fault: one logit is no number.

use super::values::change_part;
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "nan-logit",
    plants: "the first logit of the row before the last, NaN",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    change_part(question, answer, "logits", |width, logits| {
        // Behind the last row nothing follows, so it is not compared.
        let at = logits.len().checked_sub(2 * width);
        if let Some(logit) = at.and_then(|at| logits.get_mut(at)) {
            *logit = f32::NAN;
        }
    });
}
