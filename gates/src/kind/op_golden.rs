//! Kind `op-golden`: single operations of the engine's numerics profile, on the oracle's inputs, against the oracle's outputs.

use oracles::tensors::Form;
use records::metric::{Measurement, Metric, Statistic};
use serde::{Deserialize, Serialize};

use super::alone::Failure;
use super::comparison::Element;
use super::inside::{InsideFindings, findings};
use crate::compare;
use crate::spec::{OpCase, OpGoldenCheck};
use crate::words::count;

/// The kind's name in specs and records.
pub const NAME: &str = "op-golden";

/// One case: what became of each output.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpSample {
    /// The case.
    pub id: String,
    /// The outputs; an error where there is no answer that can be read.
    pub outputs: Result<Vec<OutputSample>, String>,
}

/// One output, compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputSample {
    /// Its name.
    pub name: String,
    /// The oracle's type and extents.
    pub want: Form,
    /// What was found, or why there is nothing to compare.
    pub compared: Result<Elements, String>,
}

/// The elements of an output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Elements {
    /// Floats: how many, how many are no finite numbers on either side, and those that lie farthest off, beyond what is allowed
    /// relative to the oracle's.
    Floats {
        /// All.
        count: usize,
        /// Ours or the oracle's.
        not_finite: usize,
        /// Those that differ at all.
        differ: usize,
        /// The farthest, farthest first.
        worst: Vec<Element>,
    },
    /// Whole numbers: how many, and the first that differs, with ours and the oracle's.
    Wholes {
        /// All.
        count: usize,
        /// Index, ours, the oracle's.
        first: Option<(usize, i64, i64)>,
    },
}

/// What it judges, in words.
pub fn explain(check: &OpGoldenCheck) -> String {
    let mut ops: Vec<&str> = check.case.iter().map(|case| case.op.as_str()).collect();
    ops.sort_unstable();
    ops.dedup();
    format!(
        "{} of {}: every element within its case's atol + rtol * |want|, whole numbers equal",
        count(check.case.len(), "case", "cases"),
        ops.join(", ")
    )
}

/// Judges every case of the spec.
pub fn judge(check: &OpGoldenCheck, samples: &[OpSample]) -> InsideFindings {
    let mut failures = Vec::new();
    let (mut compared, mut table) = (0, Vec::new());
    let mut farthest: Option<f64> = None;
    for case in &check.case {
        let mut sample = samples.iter().filter(|sample| sample.id == case.id);
        let Some(sample) = sample.next() else { continue };
        compared += 1;
        let mut far = None;
        let outputs = match &sample.outputs {
            Ok(outputs) => outputs.as_slice(),
            Err(defect) => {
                failures.push(Failure::new(&case.id, defect.as_str()));
                &[]
            }
        };
        if sample.outputs.as_ref().is_ok_and(Vec::is_empty) {
            failures.push(Failure::new(&case.id, "has no output to compare"));
        }
        for output in outputs {
            far = compare::largest(far.into_iter().chain(distance(output)));
            if let Some(what) = beyond(case, output) {
                failures.push(Failure::new(&case.id, format!("{}: {what}", output.name)));
            }
        }
        let shown = far.map_or("-".to_owned(), |far| format!("{far:.1e}"));
        let allowed = format!("{:.1e} + {:.1e} x |want|", case.atol.0, case.rtol.0);
        table.push(format!(
            "  {:<28} {:<10} largest difference {shown:<8} of {allowed}",
            case.id, case.op
        ));
        farthest = compare::largest(farthest.into_iter().chain(far));
    }
    let shown = farthest.map_or("unknown".to_owned(), |far| format!("{far:.1e}"));
    let summary =
        format!("{}, largest difference {shown}", count(compared, "operation", "operations"));
    let farthest = farthest.filter(|far| far.is_finite());
    let n = if farthest.is_some() { compared as u64 } else { 0 };
    let measurements =
        vec![Measurement::new(Metric::ElementDifference, Statistic::Max, n, farthest)];
    InsideFindings { findings: findings(compared, failures, summary, measurements), table }
}

/// The largest difference of an element that was kept; NaN where it is no number.
fn distance(output: &OutputSample) -> Option<f64> {
    match &output.compared {
        Ok(Elements::Floats { worst, .. }) => {
            let far = |element: &Element| match (element.got, element.want) {
                (Some(got), Some(want)) => (got - want).abs(),
                _ => f64::NAN,
            };
            compare::largest(worst.iter().map(far)).or(Some(0.0))
        }
        Ok(Elements::Wholes { .. }) | Err(_) => None,
    }
}

/// What is wrong with an output, in words; `None` where it agrees.
fn beyond(case: &OpCase, output: &OutputSample) -> Option<String> {
    match &output.compared {
        Err(defect) => Some(defect.clone()),
        Ok(Elements::Floats { count: 0, .. } | Elements::Wholes { count: 0, .. }) => {
            Some("has no element to compare".to_owned())
        }
        Ok(Elements::Floats { count, not_finite, .. }) if *not_finite > 0 => {
            Some(format!("{not_finite} of {count} elements are no finite numbers"))
        }
        Ok(Elements::Floats { count, differ, worst, .. }) => {
            let is_far = |element: &&Element| match (element.got, element.want) {
                (Some(got), Some(want)) => {
                    !compare::within((got - want).abs(), case.atol.0 + case.rtol.0 * want.abs())
                }
                _ => true,
            };
            let Element { row, column, got, want } = worst.iter().find(is_far)?;
            let shown =
                |value: &Option<f64>| value.map_or("no number".to_owned(), |v| v.to_string());
            Some(format!(
                "element [{row}, {column}] is {}, expected {} ({differ} of {count} differ)",
                shown(got),
                shown(want)
            ))
        }
        Ok(Elements::Wholes { first, .. }) => {
            first.map(|(at, got, want)| format!("element {at} is {got}, expected {want}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{ActivationType, Because, Tolerance};

    fn check() -> OpGoldenCheck {
        let case = OpCase {
            id: "add-f32".into(),
            op: "add".into(),
            dtype: ActivationType::Float32,
            sizes: [].into(),
            args: [].into(),
            seed: 1,
            atol: Tolerance(1e-3),
            rtol: Tolerance(1e-2),
            because: Because("a test".into()),
        };
        OpGoldenCheck { case: vec![case] }
    }

    fn floats(not_finite: usize, got: Option<f64>, want: f64) -> Elements {
        let worst = vec![Element { row: 1, column: 2, got, want: Some(want) }];
        Elements::Floats { count: 6, not_finite, differ: 1, worst }
    }

    /// What the only output comes to, if it fails.
    fn failed(compared: Result<Elements, String>) -> Option<String> {
        let want = Form { dtype: "F32".into(), shape: vec![2, 3] };
        let output = OutputSample { name: "out".into(), want, compared };
        let sample = OpSample { id: "add-f32".into(), outputs: Ok(vec![output]) };
        let found = judge(&check(), &[sample]).findings;
        assert_eq!(found.compared, 1);
        found.failures.first().map(|failure| failure.what.clone())
    }

    /// 1e-3 and a hundredth of 2 are 2.1e-2.
    #[test]
    fn an_element_lies_within_both_tolerances_together() {
        assert_eq!(failed(Ok(floats(0, Some(2.020_9), 2.0))), None);
        let what = failed(Ok(floats(0, Some(2.021_1), 2.0))).unwrap();
        assert_eq!(what, "out: element [1, 2] is 2.0211, expected 2 (1 of 6 differ)");
    }

    #[test]
    fn what_is_no_number_or_no_output_fails() {
        assert!(
            failed(Ok(floats(1, None, 2.0))).unwrap().contains("1 of 6 elements are no finite")
        );
        assert!(failed(Ok(floats(0, None, 2.0))).unwrap().contains("is no number"));
        assert_eq!(failed(Err("is missing".into())).unwrap(), "out: is missing");
        let none = Elements::Floats { count: 0, not_finite: 0, differ: 0, worst: Vec::new() };
        assert!(failed(Ok(none)).unwrap().contains("has no element to compare"));
    }

    #[test]
    fn whole_numbers_are_equal_or_not() {
        assert_eq!(failed(Ok(Elements::Wholes { count: 3, first: None })), None);
        let what = failed(Ok(Elements::Wholes { count: 3, first: Some((1, 8, 7)) })).unwrap();
        assert_eq!(what, "out: element 1 is 8, expected 7");
    }

    #[test]
    fn an_operation_without_a_runner_fails_and_one_without_an_answer_is_not_compared() {
        let refused = OpSample { id: "add-f32".into(), outputs: Err("no operation".into()) };
        let found = judge(&check(), &[refused]).findings;
        assert_eq!(found.failures.len(), 1);
        assert_eq!(judge(&check(), &[]).findings.compared, 0);
    }
}
