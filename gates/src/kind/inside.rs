//! The kinds that look inside the model: what they have in common.
//!
//! A gate has one of them. What is kept of a value is its distance from the oracle's, not the value: matrices are compared
//! while they are collected, and the verdict is derived from the comparisons.

use records::metric::Measurement;
use serde::{Deserialize, Serialize};

use super::activation_fidelity::{self, FidelityCase};
use super::alone::{Failure, Findings};
use super::comparison::Comparison;
use super::layers::{self, LayersCase};
use super::op_golden::{self, OpSample};
use crate::compare;
use crate::spec::{FidelityCheck, LayersCheck, OpGoldenCheck};

/// The values inside a layer, in the order in which they are computed; after them comes the residual stream.
const IN_LAYER: [&str; 12] = [
    "attention_norm",
    "query",
    "key",
    "value",
    "attended",
    "attention",
    "middle",
    "mlp_norm",
    "gate",
    "up",
    "gated",
    "mlp",
];

/// The kind that a gate declares, with its table.
#[derive(Debug, Clone, Copy)]
pub enum Inside<'a> {
    /// Layer by layer.
    Layers(&'a LayersCheck),
    /// The residual stream, beside a known difference.
    Fidelity(&'a FidelityCheck),
    /// Single operations.
    Ops(&'a OpGoldenCheck),
}

/// What was collected for one of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InsideSamples {
    /// Of layers.
    Layers(Vec<LayersCase>),
    /// Of activation-fidelity.
    Fidelity(Vec<FidelityCase>),
    /// Of op-golden.
    Ops(Vec<OpSample>),
}

/// A value of ours, compared with the oracle's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueSample {
    /// Its name, such as `layer.2.query`.
    pub name: String,
    /// How far it lies off, or why it cannot be compared.
    pub compared: Result<Comparison, String>,
}

/// What a kind found.
#[derive(Debug, Clone)]
pub struct InsideFindings {
    /// As of any other kind.
    pub findings: Findings,
    /// The table.
    pub table: Vec<String>,
}

impl Inside<'_> {
    /// The kind's name in specs and records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Layers(_) => layers::NAME,
            Self::Fidelity(_) => activation_fidelity::NAME,
            Self::Ops(_) => op_golden::NAME,
        }
    }

    /// What it judges, in words.
    pub fn explain(&self) -> String {
        match self {
            Self::Layers(check) => layers::explain(check),
            Self::Fidelity(check) => activation_fidelity::explain(check),
            Self::Ops(check) => op_golden::explain(check),
        }
    }

    /// Whether it asks the spec's inputs.
    pub fn reads_inputs(&self) -> bool {
        !matches!(self, Self::Ops(_))
    }

    /// Judges what was collected; `None` where it was collected for another kind.
    pub fn judge(&self, samples: &InsideSamples) -> Option<InsideFindings> {
        match (self, samples) {
            (Self::Layers(check), InsideSamples::Layers(cases)) => {
                Some(layers::judge(check, cases))
            }
            (Self::Fidelity(check), InsideSamples::Fidelity(cases)) => {
                Some(activation_fidelity::judge(check, cases))
            }
            (Self::Ops(check), InsideSamples::Ops(cases)) => Some(op_golden::judge(check, cases)),
            _ => None,
        }
    }
}

/// The names of all values inside a model of so many layers, in the order in which they are computed.
pub fn value_names(layers: usize) -> Vec<String> {
    let in_layer = |layer: usize| {
        let inside = IN_LAYER.iter().map(move |name| format!("layer.{layer}.{name}"));
        inside.chain([format!("layer.{layer}")])
    };
    let ends = ["norm", "logits"].map(str::to_owned);
    let embed = std::iter::once("embed".to_owned());
    embed.chain((0..layers).flat_map(in_layer)).chain(ends).collect()
}

/// The names of the residual streams: what a layer, or the end of the model, is computed from.
pub fn stream_names(layers: usize) -> Vec<String> {
    let streams = (0..layers).map(|layer| format!("layer.{layer}"));
    std::iter::once("embed".to_owned()).chain(streams).collect()
}

/// A value's name in words: `layer 2, query`.
pub fn words(name: &str) -> String {
    let Some(rest) = name.strip_prefix("layer.") else { return name.to_owned() };
    match rest.split_once('.') {
        Some((layer, value)) => format!("layer {layer}, {value}"),
        None => format!("layer {rest}, residual stream"),
    }
}

impl ValueSample {
    /// The distance that is judged: that of the token where it is largest. `None` where there is none to tell.
    pub fn distance(&self) -> Option<f64> {
        let compared = self.compared.as_ref().ok().filter(|compared| compared.not_finite == 0);
        Some(compared?.worst_row?.1)
    }

    /// What is wrong with it under a band, in words; `None` where it lies within.
    pub fn beyond(&self, band: f64) -> Option<String> {
        let compared = match &self.compared {
            Ok(compared) => compared,
            Err(defect) => return Some(defect.clone()),
        };
        if compared.not_finite > 0 {
            let of = compared.rows * compared.width;
            return Some(format!("{} of {of} values are no finite numbers", compared.not_finite));
        }
        match compared.worst_row {
            None => Some("has no relative distance: the oracle's is zero".to_owned()),
            Some((_, distance)) if compare::within(distance, band) => None,
            Some((row, distance)) => {
                let scale = scale_words(compared.rescaled, compared.rel_rms);
                Some(format!("relative RMS {distance:.1e} beyond {band:.1e} (token {row}{scale})"))
            }
        }
    }
}

/// That a factor alone explains the difference, where it does: where it takes three quarters of it away.
pub fn scale_words(rescaled: Option<(f64, f64)>, rel_rms: Option<f64>) -> String {
    match (rescaled, rel_rms) {
        (Some((factor, left)), Some(before)) if compare::within(left, before / 4.0) => {
            format!("; ours is the oracle's times {:.4}", 1.0 / factor)
        }
        _ => String::new(),
    }
}

/// A failure of a case at a value.
pub(super) fn failure(case: &str, name: &str, what: &str) -> Failure {
    Failure::new(case, format!("{}: {what}", words(name)))
}

/// Findings of judged values.
pub(super) fn findings(
    compared: usize,
    failures: Vec<Failure>,
    summary: String,
    measurements: Vec<Measurement>,
) -> Findings {
    Findings { measurements, ..Findings::of(compared, failures, summary) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_named_in_the_order_of_their_computation() {
        let names = value_names(2);
        assert_eq!(names.len(), 1 + 2 * 13 + 2);
        let at = |name: &str| names.iter().position(|found| found == name).unwrap();
        assert!(at("embed") < at("layer.0.query") && at("layer.0.mlp") < at("layer.0"));
        assert!(at("layer.0") < at("layer.1.attention_norm") && at("layer.1") < at("logits"));
        assert_eq!(stream_names(2), ["embed", "layer.0", "layer.1"]);
        assert_eq!(words("layer.2.query"), "layer 2, query");
        assert_eq!(words("layer.2"), "layer 2, residual stream");
        assert_eq!(words("norm"), "norm");
    }
}
