//! Fault: an operation reads bfloat16 activations as if they were single precision.

use oracles::tensors::{Tensor, Tensors};

use super::values::misread;
use super::{Act, Fault};
use crate::subject::Question;

pub(super) const FAULT: Fault = Fault {
    name: "misread-activations",
    plants: "the activations that an operation is given, read as f32 from the bytes of bfloat16",
    act: Act::Given(plant),
};

fn plant(_: &mut Question, given: &mut Tensors) {
    for (name, tensor) in &mut given.0 {
        if tensor.form.dtype != "BF16" || name == "weight" {
            continue;
        }
        if let Some(values) = tensor.floats() {
            *tensor = Tensor::of_f32(tensor.form.shape.clone(), &misread(&values));
        }
    }
}
