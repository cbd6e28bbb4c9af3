//! A golden of tensors, for a gate that looks inside the model.

use oracles::golden::tensors::{TensorCapture, TensorGolden};
use oracles::verbs::Oracle;

use super::{CaptureError, Target};
use crate::collect::{questions, questions_sha256};
use crate::kind::inside::Inside;

/// Captures the golden of a gate from a running oracle, which has to answer the same every time.
pub fn capture(
    target: &Target<'_>,
    check: &Inside<'_>,
    oracle: &mut dyn Oracle,
) -> Result<TensorGolden, CaptureError> {
    let questions = questions(check, target.workload, oracle)?;
    let capture = TensorCapture {
        gate: &target.gate.name,
        checkpoint: target.checkpoint,
        questions_sha256: &questions_sha256(check, target.workload),
        environment: target.oracle.declared.launch.as_ref().map(|launch| &launch.environment),
        questions: &questions,
        repeats: target.gate.spec.capture.repeats.0,
    };
    Ok(TensorGolden::capture(target.home, oracle, &capture, target.progress)?)
}
