//! Kind `activation-fidelity`: how close the residual stream stays to the oracle's, and how much that is beside a difference whose
//! size is known: the same prompt with one word edited.

use records::metric::{Measurement, Metric, Statistic};
use serde::{Deserialize, Serialize};

use super::alone::Failure;
use super::comparison::RowSums;
use super::inside::{InsideFindings, findings, scale_words, words};
use crate::compare;
use crate::spec::FidelityCheck;
use crate::words::count;

/// The kind's name in specs and records.
pub const NAME: &str = "activation-fidelity";

/// One prompt and its edited twin.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FidelityCase {
    /// The case.
    pub id: String,
    /// The edited case.
    pub edited: String,
    /// The first token that the edit changes.
    pub from: usize,
    /// The residual streams in their order; an error where there is no answer that can be read.
    pub values: Result<Vec<StreamSample>, String>,
}

/// One residual stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamSample {
    /// Its name.
    pub name: String,
    /// Ours against the oracle's, a row a token; an error where they cannot be compared.
    pub rows: Result<Vec<RowSums>, String>,
    /// The oracle's on the edited prompt against the oracle's, over the tokens from the edit on.
    pub edited: RowSums,
}

/// The numbers of one stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Fidelity {
    /// Over all tokens.
    pub rel_rms: f64,
    /// Over all but the first, which attention makes a sink: its length can hide what the others do.
    pub without_sink: f64,
    /// Mean cosine of a token.
    pub cosine_mean: f64,
    /// The smallest.
    pub cosine_min: f64,
    /// The median angle of a token.
    pub rotation_degrees: f64,
    /// Share of the tokens that are moved.
    pub moved: f64,
    /// The factor that brings ours closest, and what is left then.
    pub rescaled: Option<(f64, f64)>,
    /// Distance that the edit makes.
    pub yardstick: f64,
}

/// What it judges, in words.
pub fn explain(check: &FidelityCheck) -> String {
    format!(
        "the residual stream against the oracle's: relative RMS at most {:.1e} with and without the first token, every \
         token's cosine at least {}, median rotation at most {} degrees, at most {} of the tokens moved by {:.1e}, and at \
         most {} of what editing a word does, because {}",
        check.rel_rms.0,
        check.cosine_min.0,
        check.rotation_degrees.0,
        check.moved_share.0,
        check.moved_rel_rms.0,
        check.yardstick_share.0,
        check.because.0
    )
}

/// The numbers of one stream; a sentence where there are none.
pub fn measure(check: &FidelityCheck, stream: &StreamSample) -> Result<Fidelity, String> {
    let rows = stream.rows.as_ref().map_err(Clone::clone)?;
    let sum = |rows: &[RowSums]| rows.iter().copied().fold(RowSums::NONE, RowSums::plus);
    let number = |value: Option<f64>, what: &str| {
        value.ok_or_else(|| format!("{what} is no number: a value is not finite, or all are zero"))
    };
    let of_rows = |of: fn(&RowSums) -> Option<f64>, what: &str| -> Result<Vec<f64>, String> {
        rows.iter().map(|row| number(of(row), what)).collect()
    };
    let cosines = of_rows(RowSums::cosine, "a token's cosine")?;
    let angles = of_rows(RowSums::degrees, "a token's rotation")?;
    let distances = of_rows(RowSums::rel_rms, "a token's distance")?;
    let moved = distances.iter().filter(|far| !compare::within(**far, check.moved_rel_rms.0));
    let [first, rest @ ..] = rows.as_slice() else { return Err("has no token".to_owned()) };
    let all = sum(rest).plus(*first);
    Ok(Fidelity {
        rel_rms: number(all.rel_rms(), "the distance")?,
        without_sink: number(sum(rest).rel_rms(), "the distance")?,
        cosine_mean: cosines.iter().sum::<f64>() / cosines.len() as f64,
        cosine_min: cosines.iter().copied().fold(1.0, f64::min),
        rotation_degrees: median(angles),
        moved: moved.count() as f64 / rows.len() as f64,
        rescaled: all.rescaled(),
        yardstick: number(stream.edited.rel_rms(), "the yardstick")?,
    })
}

/// The middle one of at least one; the mean of the two middle ones.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// Every bound that the numbers break.
fn broken(check: &FidelityCheck, found: &Fidelity) -> Vec<String> {
    let share = found.rel_rms.max(found.without_sink) / found.yardstick;
    let scale = scale_words(found.rescaled, Some(found.rel_rms));
    let beyond =
        |value: f64, bound: f64, words: String| (!compare::within(value, bound)).then_some(words);
    [
        beyond(
            found.rel_rms,
            check.rel_rms.0,
            format!("relative RMS {:.1e} beyond {:.1e}{scale}", found.rel_rms, check.rel_rms.0),
        ),
        beyond(
            found.without_sink,
            check.rel_rms.0,
            format!(
                "relative RMS {:.1e} without the first token beyond {:.1e}",
                found.without_sink, check.rel_rms.0
            ),
        ),
        beyond(
            1.0 - found.cosine_min,
            1.0 - check.cosine_min.0,
            format!("a token's cosine {:.6} below {}", found.cosine_min, check.cosine_min.0),
        ),
        beyond(
            found.rotation_degrees,
            check.rotation_degrees.0,
            format!(
                "median rotation {:.3} degrees beyond {}",
                found.rotation_degrees, check.rotation_degrees.0
            ),
        ),
        beyond(
            found.moved,
            check.moved_share.0,
            format!("{:.0} % of the tokens moved", found.moved * 100.0),
        ),
        beyond(
            share,
            check.yardstick_share.0,
            format!("{:.1} % of what editing a word does", share * 100.0),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Judges every stream of every case.
pub fn judge(check: &FidelityCheck, cases: &[FidelityCase]) -> InsideFindings {
    let mut failures = Vec::new();
    let (mut compared, mut table) = (0, Vec::new());
    let mut numbers: Vec<Fidelity> = Vec::new();
    for case in cases {
        table.push(format!("{} beside {}, edited from token {}", case.id, case.edited, case.from));
        let values = match &case.values {
            Ok(values) => values,
            Err(defect) => {
                failures.push(Failure::new(&case.id, defect.as_str()));
                continue;
            }
        };
        compared += values.len();
        for stream in values {
            let name = words(&stream.name);
            let problems = match measure(check, stream) {
                Ok(found) => {
                    table.push(row(&stream.name, &found));
                    let problems = broken(check, &found);
                    numbers.push(found);
                    problems
                }
                Err(defect) => vec![defect],
            };
            if !problems.is_empty() {
                failures.push(Failure::new(&case.id, format!("{name}: {}", problems.join(", "))));
            }
        }
    }
    let largest = |of: fn(&Fidelity) -> f64| compare::largest(numbers.iter().map(of));
    let shown =
        |value: Option<f64>| value.map_or("unknown".to_owned(), |value| format!("{value:.1e}"));
    let distance = |found: &Fidelity| found.rel_rms.max(found.without_sink);
    let summary = format!(
        "{}, {compared} residual streams: relative RMS at most {}, at most {} of what editing a word does",
        count(cases.len(), "prompt", "prompts"),
        shown(largest(distance)),
        shown(largest(|found| found.rel_rms.max(found.without_sink) / found.yardstick))
    );
    let number = |metric, value: Option<f64>| {
        let value = value.filter(|value| value.is_finite());
        let n = if value.is_some() { numbers.len() as u64 } else { 0 };
        Measurement::new(metric, Statistic::Max, n, value)
    };
    let measurements = vec![
        number(Metric::ValueDistance, largest(distance)),
        number(Metric::RotationDegrees, largest(|found| found.rotation_degrees)),
        number(Metric::EditDistance, largest(|found| found.yardstick)),
    ];
    InsideFindings { findings: findings(compared, failures, summary, measurements), table }
}

fn row(name: &str, found: &Fidelity) -> String {
    let scale = found.rescaled.map_or("none".to_owned(), |(factor, _)| format!("{factor:.6}"));
    format!(
        "  {:<10} rel RMS {:.1e} ({:.1e} without token 0), cosine {:.7} mean {:.7} min, rotation {:.4} degrees, moved {:.0} %, \
         best scale {scale}, yardstick {:.2}",
        name.replace('.', " "),
        found.rel_rms,
        found.without_sink,
        found.cosine_mean,
        found.cosine_min,
        found.rotation_degrees,
        found.moved * 100.0,
        found.yardstick
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::comparison::{Rows, row_sums};
    use crate::spec::{Because, Degrees, RelRms, Unit};

    fn check() -> FidelityCheck {
        FidelityCheck {
            edits: Vec::new(),
            rel_rms: RelRms(4e-3),
            cosine_min: Unit(0.999),
            rotation_degrees: Degrees(0.2),
            moved_rel_rms: RelRms(2e-3),
            moved_share: Unit(0.5),
            yardstick_share: Unit(0.05),
            because: Because("a test".into()),
        }
    }

    fn rows(values: &[f32]) -> Rows {
        Rows { width: 2, values: values.to_vec() }
    }

    const WANT: [f32; 6] = [30.0, 40.0, 3.0, 4.0, 4.0, 3.0];

    fn stream(got: &[f32]) -> StreamSample {
        let rows = row_sums(&rows(got), &rows(&WANT));
        let edited = RowSums { error: 25.0, want: 100.0, got: 100.0, dot: 0.0 };
        StreamSample { name: "layer.1".into(), rows: Ok(rows), edited }
    }

    fn case(streams: Vec<StreamSample>) -> FidelityCase {
        FidelityCase { id: "a".into(), edited: "b".into(), from: 1, values: Ok(streams) }
    }

    fn failed(got: &[f32]) -> Option<String> {
        let found = judge(&check(), &[case(vec![stream(got)])]).findings;
        assert_eq!(found.compared, 1);
        found.failures.first().map(|failure| failure.what.clone())
    }

    #[test]
    fn the_same_stream_passes() {
        assert_eq!(failed(&WANT), None);
        let found = measure(&check(), &stream(&WANT)).unwrap();
        assert!(compare::within((found.yardstick - 0.5).abs(), 1e-12));
        assert!(compare::within((found.cosine_mean - 1.0).abs(), 1e-12));
    }

    /// One percent more of everything is 1e-2, turns nothing, and is told as a factor.
    #[test]
    fn a_factor_is_told_as_one() {
        let scaled = WANT.map(|value| value * 1.01);
        let what = failed(&scaled).unwrap();
        assert!(
            what.contains("relative RMS 1.0e-2 beyond 4.0e-3; ours is the oracle's times 1.0100"),
            "{what}"
        );
        assert!(what.contains("100 % of the tokens moved") && !what.contains("rotation"), "{what}");
    }

    /// The first token is ten times as long: with it the distance is 7e-3 x 5 over a length of 50.5.
    #[test]
    fn the_first_token_cannot_hide_the_others() {
        let what = failed(&[30.0, 40.0, 3.03, 4.0, 4.0, 3.0]).unwrap();
        assert!(
            what.contains("without the first token")
                && !what.starts_with("layer 1, residual stream: relative RMS 5.9e-4 beyond"),
            "{what}"
        );
    }

    #[test]
    fn what_is_no_number_fails() {
        let what = failed(&[30.0, f32::NAN, 3.0, 4.0, 4.0, 3.0]).unwrap();
        assert!(what.contains("is no number"), "{what}");
    }

    proptest::proptest! {
        /// Whatever an engine answers, its evidence is judged as it was.
        #[test]
        fn the_evidence_is_judged_the_same(bits in proptest::array::uniform6(proptest::num::u32::ANY), place in 0..7_usize) {
            let mut got = bits.map(f32::from_bits);
            for broken in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                if let Some(value) = got.get_mut(place) {
                    *value = broken;
                }
                let case = case(vec![stream(&got)]);
                let read: FidelityCase = serde_json::from_str(&serde_json::to_string(&case).unwrap()).unwrap();
                let [kept, again] = [case, read].map(|case| judge(&check(), &[case]));
                proptest::prop_assert_eq!(kept.findings.failures, again.findings.failures);
                proptest::prop_assert_eq!(kept.findings.measurements, again.findings.measurements);
                proptest::prop_assert_eq!(kept.findings.summary, again.findings.summary);
                proptest::prop_assert_eq!(kept.table, again.table);
            }
        }
    }

    #[test]
    fn the_median_is_the_middle() {
        assert!(compare::within((median(vec![3.0, 1.0, 2.0]) - 2.0).abs(), 0.0));
        assert!(compare::within((median(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs(), 0.0));
    }
}
