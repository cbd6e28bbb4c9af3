//! What faults on a dump have in common: changing the logits in the file that the engine wrote.

use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};

use crate::subject::{Question, RawAnswer, Verb};

/// Changes the logits of a dump, rows of the width that `change` is told. A file that cannot be read stays as it is.
pub(super) fn change_logits(
    question: &Question,
    answer: &mut RawAnswer,
    change: impl FnOnce(usize, &mut [f32]),
) {
    if question.verb != Verb::Dump {
        return;
    }
    if let Some(file) = changed(&answer.file, change) {
        answer.file = file;
    }
}

fn changed(file: &[u8], change: impl FnOnce(usize, &mut [f32])) -> Option<Vec<u8>> {
    const TAP: &str = "logits";
    let tensors = SafeTensors::deserialize(file).ok()?;
    let tensor = tensors.tensor(TAP).ok()?;
    let shape = tensor.shape().to_vec();
    let bytes = tensor.data().as_chunks().0.iter();
    let mut values: Vec<f32> = bytes.map(|bits| f32::from_le_bytes(*bits)).collect();
    change(*shape.last()?, &mut values);
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let view = TensorView::new(Dtype::F32, shape, &bytes).ok()?;
    serialize([(TAP, view)], None).ok()
}
