//! Fault: bfloat16 is read as if it were single precision.

use super::values::{change_part, misread};
use super::{Act, Fault};
use crate::subject::{Question, RawAnswer};

pub(super) const FAULT: Fault = Fault {
    name: "misread-values",
    plants: "layer 0's values, read as f32 from the bytes of bfloat16",
    act: Act::Exchange(plant),
};

fn plant(question: &Question, answer: &mut RawAnswer) {
    change_part(question, answer, "layer.0", |_, values| values.copy_from_slice(&misread(values)));
}
