//! Kind `layers`: every value inside the model against the oracle's, end to end and layer by layer.
//!
//! End to end, a difference travels: what is off in one layer is off in all that follow. So each layer is also computed from the
//! oracle's own residual stream before it, with nothing of ours in it, and the first value that leaves the band there is where the
//! difference is made.

use records::metric::{Measurement, Metric, Statistic};
use serde::{Deserialize, Serialize};

use super::alone::Failure;
use super::inside::{InsideFindings, ValueSample, failure, findings};
use crate::spec::LayersCheck;
use crate::words::count;

/// The kind's name in specs and records.
pub const NAME: &str = "layers";

/// One prompt. Values stand in the order in which they are computed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayersCase {
    /// The case.
    pub id: String,
    /// Tokens of the prompt.
    pub tokens: usize,
    /// Layers of the model.
    pub layers: usize,
    /// The whole model from the token ids; an error where there is no answer that can be read.
    pub end_to_end: Result<Vec<ValueSample>, String>,
    /// Each layer from the oracle's stream before it.
    pub isolated: Result<Vec<ValueSample>, String>,
}

/// What it judges, in words.
pub fn explain(check: &LayersCheck) -> String {
    let band = |band: &crate::spec::Band| {
        format!(
            "relative RMS of the worst token at most {:.1e}, because {}",
            band.rel_rms.0, band.because.0
        )
    };
    format!(
        "every value inside the model against the oracle's; each layer from the oracle's own residual stream ({}), and the \
         whole model from the ids ({})",
        band(&check.isolated),
        band(&check.end_to_end)
    )
}

/// Judges every value of every case, isolated layers first: they say where a difference is made.
pub fn judge(check: &LayersCheck, cases: &[LayersCase]) -> InsideFindings {
    let mut failures = Vec::new();
    let (mut compared, mut table, mut layers) = (0, Vec::new(), 0);
    let [mut isolated_worst, mut whole_worst] = [None, None];
    for case in cases {
        layers = layers.max(case.layers);
        for (values, band, how, worst) in [
            (&case.isolated, check.isolated.rel_rms.0, "isolated", &mut isolated_worst),
            (&case.end_to_end, check.end_to_end.rel_rms.0, "end to end", &mut whole_worst),
        ] {
            match values {
                Ok(values) => {
                    compared += values.len();
                    failures.extend(first_beyond(&case.id, values, band, how));
                    for value in values {
                        farther(worst, value);
                    }
                }
                Err(defect) => failures.push(Failure::new(&case.id, format!("{how}: {defect}"))),
            }
        }
        table.extend(rows(case));
    }
    let summary = format!(
        "{} x {}, {compared} values compared; isolated at most {}, end to end at most {}",
        count(cases.len(), "prompt", "prompts"),
        count(layers, "layer", "layers"),
        words(isolated_worst.as_ref()),
        words(whole_worst.as_ref())
    );
    let n = compared as u64 / 2;
    let number = |metric, worst: Option<(f64, String)>| {
        let n = if worst.is_some() { n.max(1) } else { 0 };
        Measurement::new(metric, Statistic::Max, n, worst.map(|(distance, _)| distance))
    };
    let measurements = vec![
        number(Metric::IsolatedDistance, isolated_worst),
        number(Metric::ValueDistance, whole_worst),
    ];
    InsideFindings { findings: findings(compared, failures, summary, measurements), table }
}

/// The first value beyond the band; those behind it are its consequence, or are told by the table.
fn first_beyond(case: &str, values: &[ValueSample], band: f64, how: &str) -> Option<Failure> {
    let mut beyond = values.iter().filter_map(|value| Some((value, value.beyond(band)?)));
    let (first, what) = beyond.next()?;
    let more = match beyond.count() {
        0 => String::new(),
        more => format!(", and {} after it", count(more, "value", "values")),
    };
    Some(failure(case, &first.name, &format!("{what}, {how}{more}")))
}

fn farther(worst: &mut Option<(f64, String)>, value: &ValueSample) {
    if let Some(distance) = value.distance()
        && worst.as_ref().is_none_or(|(largest, _)| distance > *largest)
    {
        *worst = Some((distance, value.name.clone()));
    }
}

fn words(worst: Option<&(f64, String)>) -> String {
    match worst {
        Some((distance, name)) if *distance > 0.0 => {
            format!("{distance:.1e} ({})", super::inside::words(name))
        }
        Some(_) => "0".to_owned(),
        None => "unknown".to_owned(),
    }
}

/// One line a layer: its stream end to end, its farthest value isolated.
fn rows(case: &LayersCase) -> Vec<String> {
    let mut lines = vec![format!("{} ({})", case.id, count(case.tokens, "token", "tokens"))];
    let part = |values: &Result<Vec<ValueSample>, String>, prefix: &str| {
        let mut worst = None;
        let values = values.iter().flatten().filter(|value| belongs(&value.name, prefix));
        let mut unknown = false;
        for value in values {
            unknown |= value.distance().is_none();
            farther(&mut worst, value);
        }
        if unknown { "no number".to_owned() } else { words(worst.as_ref()) }
    };
    let layers = (0..case.layers).map(|layer| format!("layer.{layer}"));
    for name in ["embed".to_owned()]
        .into_iter()
        .chain(layers)
        .chain(["norm".to_owned(), "logits".to_owned()])
    {
        let (whole, alone) = (part(&case.end_to_end, &name), part(&case.isolated, &name));
        let shown = name.replace('.', " ");
        lines.push(format!("  {shown:<10} end to end {whole:<36} isolated {alone}"));
    }
    lines
}

/// Whether a value is of that part: itself, or inside it.
fn belongs(name: &str, part: &str) -> bool {
    name.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::comparison::Comparison;
    use crate::kind::inside::value_names;
    use crate::spec::{Band, BandOrigin, Because, RelRms};

    fn check() -> LayersCheck {
        let band = |rel_rms| Band {
            rel_rms: RelRms(rel_rms),
            source: BandOrigin::Bf16Rounding,
            because: Because("a test".into()),
        };
        LayersCheck { isolated: band(2e-3), end_to_end: band(8e-3) }
    }

    /// Two layers, each value at the distance that `distance` gives it.
    fn values(distance: impl Fn(&str) -> f64) -> Vec<ValueSample> {
        let value = |name: String| {
            let distance = distance(&name);
            let compared = Comparison {
                rows: 2,
                width: 4,
                not_finite: 0,
                rel_rms: Some(distance),
                worst_row: Some((1, distance)),
                rescaled: Some((1.0, distance)),
                worst: Vec::new(),
            };
            ValueSample { name, compared: Ok(compared) }
        };
        value_names(2).into_iter().map(value).collect()
    }

    fn case(end_to_end: Vec<ValueSample>, isolated: Vec<ValueSample>) -> LayersCase {
        let (end_to_end, isolated) = (Ok(end_to_end), Ok(isolated));
        LayersCase { id: "a".into(), tokens: 2, layers: 2, end_to_end, isolated }
    }

    fn failed(case: LayersCase) -> Vec<String> {
        let found = judge(&check(), &[case]).findings;
        found.failures.into_iter().map(|failure| failure.what).collect()
    }

    #[test]
    fn values_within_their_bands_pass_and_are_counted() {
        let found = judge(&check(), &[case(values(|_| 1e-3), values(|_| 1e-3))]);
        assert_eq!(found.findings.failures, []);
        assert_eq!(found.findings.compared, 2 * 29);
        assert_eq!(found.table.len(), 1 + 5);
    }

    /// End to end everything behind layer 1's query is off; isolated, layer 1 alone is.
    #[test]
    fn the_first_value_that_leaves_the_band_is_named() {
        let off = |name: &str| name.starts_with("layer.1") && name != "layer.1.attention_norm";
        let isolated = values(|name| if off(name) { 3.1e-2 } else { 0.0 });
        let whole = values(|name| if off(name) || name == "norm" { 9e-3 } else { 0.0 });
        assert_eq!(
            failed(case(whole, isolated)),
            [
                "layer 1, query: relative RMS 3.1e-2 beyond 2.0e-3 (token 1), isolated, and 11 values after it",
                "layer 1, query: relative RMS 9.0e-3 beyond 8.0e-3 (token 1), end to end, and 12 values after it",
            ]
        );
    }

    /// Every layer is within its band, and together they are not within theirs.
    #[test]
    fn what_adds_up_is_told_end_to_end() {
        let whole = values(|name| if name.starts_with("layer.1") { 9e-3 } else { 0.0 });
        let found = failed(case(whole, values(|_| 1.9e-3)));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("end to end"), "{found:?}");
    }

    #[test]
    fn a_value_that_is_missing_or_no_number_is_beyond_any_band() {
        let mut missing = values(|_| 0.0);
        missing[3].compared = Err("is missing".into());
        assert_eq!(failed(case(values(|_| 0.0), missing)), ["layer 0, key: is missing, isolated"]);
        let mut broken = values(|_| 0.0);
        broken[0].compared = Ok(Comparison {
            not_finite: 1,
            worst_row: None,
            ..broken[0].compared.clone().unwrap()
        });
        let found = failed(case(broken, values(|_| 0.0)));
        assert_eq!(found, ["embed: 1 of 8 values are no finite numbers, end to end"]);
        let unread = LayersCase {
            isolated: Err("its file is cut".into()),
            ..case(values(|_| 0.0), Vec::new())
        };
        assert_eq!(failed(unread), ["isolated: its file is cut"]);
    }
}
