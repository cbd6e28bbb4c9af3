//! Fault: the nibbles, or the bytes, of a block are read in another order.

use oracles::tensors::Tensors;

use super::{Act, Fault};
use crate::subject::Question;

pub(super) const FAULT: Fault = Fault {
    name: "misread-blocks",
    plants: "the two halves of each byte of a weight in blocks, exchanged",
    act: Act::Given(plant),
};

fn plant(_: &mut Question, given: &mut Tensors) {
    if let Some(weight) = given.0.get_mut("weight").filter(|weight| weight.form.dtype == "U8") {
        weight.bytes.iter_mut().for_each(|byte| *byte = byte.rotate_left(4));
    }
}
