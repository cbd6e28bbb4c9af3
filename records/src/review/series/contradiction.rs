//! Whether the words of a record are those of its `report.json`, field by field. It derives no word: `grid recheck` does.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::read::{Comparison, Violation};
use super::{gravity, name};
use crate::digest::sha256_hex;
use crate::metric::Metric;
use crate::record::{
    CellVerdict, ESTABLISHED, Medians, RatioInterval, Record, Series, VerdictWord,
};
use crate::review::median::median;
use crate::review::run::File;

/// The largest relative difference of a number that was written once as a logarithm and once as a ratio: exp may end in another digit
/// on another machine, and no page prints so many.
const SAME: f64 = 1e-9;

#[derive(Deserialize)]
struct Report {
    plan_sha256: String,
    /// The words of the whole plan, where only some of its cells were measured.
    tests: Option<usize>,
    verdicts: Vec<Judged>,
}

#[derive(Deserialize)]
struct Judged {
    cell: String,
    comparison: Comparison,
    metric: String,
    #[serde(rename = "judged")]
    said: Said,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Said {
    Void(Vec<Violation>),
    Skipped(IgnoredAny),
    Unestimated(IgnoredAny),
    Compared(Compared),
}

/// Estimates are natural logarithms; an end that is open is none.
#[derive(Deserialize)]
struct Compared {
    word: String,
    time: Estimate,
    deciding: Ends,
    described: Described,
}

#[derive(Deserialize)]
struct Estimate {
    primary: Primary,
}

#[derive(Deserialize)]
struct Primary {
    estimate: f64,
}

#[derive(Deserialize)]
struct Ends {
    lower: Option<f64>,
    upper: Option<f64>,
}

#[derive(Deserialize)]
struct Described {
    /// (reference, subject) of every pair.
    values: Vec<(f64, f64)>,
}

/// What a series' record says otherwise than the files that it keeps, a sentence each; empty where they agree, or where there is
/// no `report.json` to ask.
pub(in crate::review) fn contradictions(record: &Record, files: &[File]) -> Vec<String> {
    let Some(series) = &record.series else { return Vec::new() };
    let mut found = Vec::new();
    if let Some(plan) = File::named(files, "plan.json") {
        let sha256 = sha256_hex(&plan.bytes);
        if sha256 != series.plan_sha256 {
            found.push(format!(
                "plan.json hashes to {sha256}, the record names {}",
                series.plan_sha256
            ));
        }
    }
    let Some(file) = File::named(files, "report.json") else { return found };
    let report: Report = match serde_json::from_slice(&file.bytes) {
        Ok(report) => report,
        Err(error) => {
            found.push(format!("report.json cannot be held against the record: {error}"));
            return found;
        }
    };
    let differ = whole(record, series, &report).into_iter().chain(cells(series, &report));
    found.extend(differ.map(|what| format!("{what}: the record says otherwise than report.json")));
    found
}

/// What a record says of all words together.
fn whole(record: &Record, series: &Series, report: &Report) -> Vec<String> {
    let words: Vec<&str> = report.verdicts.iter().map(|judged| judged.said.word()).collect();
    let mut rules: Vec<&str> =
        report.verdicts.iter().flat_map(|judged| judged.said.rules()).collect();
    rules.sort_unstable();
    rules.dedup();
    let estimates: Vec<f64> =
        report.verdicts.iter().filter_map(|judged| Some(judged.said.ratio()?.estimate)).collect();
    let compared = report.verdicts.iter().filter(|judged| judged.said.compared().is_some());
    let mut ratios = record.measurements.iter().filter(|number| number.metric == Metric::Ratio);
    named(&[
        ("the plan", report.plan_sha256 == series.plan_sha256),
        ("the word of all", record.verdict.word == gravest(&words)),
        ("the rules of all", record.verdict.rules.iter().eq(rules)),
        ("the reason of all", record.verdict.reason == counted(&words, report.tests)),
        ("the number of words with a comparison", record.compared == compared.count() as u64),
        ("the number of words", series.cells.len() == report.verdicts.len()),
        (
            "a measured ratio",
            ratios.all(|number| {
                let value = number.value.unwrap_or(f64::NAN);
                estimates.iter().any(|estimate| is_same(*estimate, value))
            }),
        ),
    ])
}

/// What it says of each.
fn cells(series: &Series, report: &Report) -> Vec<String> {
    let differ = |(cell, judged): (&CellVerdict, &Judged)| {
        let said = &judged.said;
        let mut rules: Vec<&str> = cell.rules.iter().map(String::as_str).collect();
        rules.sort_unstable();
        let differ = named(&[
            ("cell", cell.cell == judged.cell),
            ("subject", cell.subject == judged.comparison.subject),
            ("reference", cell.reference == judged.comparison.reference),
            ("metric", cell.metric == judged.metric),
            ("word", cell.word == said.word()),
            ("rules", rules == said.rules()),
            ("ratio", same_ratio(cell.ratio, said.ratio())),
            ("medians", same_medians(cell.medians, said.medians())),
            ("reason", cell.reason.starts_with(&said.told(&name(cell)))),
        ]);
        differ.into_iter().map(|field| format!("{}, {field}", name(cell))).collect::<Vec<_>>()
    };
    series.cells.iter().zip(&report.verdicts).flat_map(differ).collect()
}

impl Said {
    fn compared(&self) -> Option<&Compared> {
        match self {
            Self::Compared(compared) => Some(compared),
            Self::Void(_) | Self::Skipped(_) | Self::Unestimated(_) => None,
        }
    }

    fn word(&self) -> &str {
        match self {
            Self::Void(_) => "VOID",
            Self::Skipped(_) => "SKIPPED",
            Self::Unestimated(_) => "INCONCLUSIVE",
            Self::Compared(compared) => &compared.word,
        }
    }

    /// The rules that were broken, once each, in the order of the alphabet.
    fn rules(&self) -> Vec<&str> {
        let Self::Void(broken) = self else { return Vec::new() };
        let mut rules: Vec<&str> = broken.iter().map(|found| found.rule.as_str()).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    /// The ratio that a record carries of it: none where the interval does not hold the estimate.
    fn ratio(&self) -> Option<RatioInterval> {
        let Compared { time, deciding, .. } = self.compared()?;
        let (low, high) = (deciding.lower?.exp(), deciding.upper?.exp());
        let estimate = time.primary.estimate.exp();
        let is_interval = low <= estimate && estimate <= high && high.is_finite() && low > 0.0;
        is_interval.then_some(RatioInterval { estimate, low, high })
    }

    fn medians(&self) -> Option<Medians> {
        let values = &self.compared()?.described.values;
        let (reference, subject): (Vec<f64>, Vec<f64>) = values.iter().copied().unzip();
        Some(Medians { subject: median(&subject)?, reference: median(&reference)? })
    }

    /// How the judge's line of it begins, behind which its figures stand.
    fn told(&self, name: &str) -> String {
        let figures = self.ratio().map(|RatioInterval { estimate, low, high }| {
            // As the grid wrote it then, whatever pages print now.
            format!("{estimate:.4} [{low:.4}, {high:.4}]")
        });
        format!("{name}: {} {}", self.word(), figures.unwrap_or_default())
    }
}

/// The word of a record of these words: the gravest. One of which a part was skipped establishes nothing as a whole.
fn gravest(words: &[&str]) -> VerdictWord {
    match words.iter().copied().max_by_key(|word| gravity(word)) {
        Some("IMPROVED" | "EQUIVALENT" | "PASS") => VerdictWord::Pass,
        Some("FAIL" | "REGRESSED") => VerdictWord::Fail,
        Some("VOID") => VerdictWord::Void,
        Some("SKIPPED") if words.iter().all(|word| *word == "SKIPPED") => VerdictWord::Skipped,
        None => VerdictWord::Skipped,
        Some(_) => VerdictWord::NotEstablished,
    }
}

/// How often each word was said, as the reason of such a record has it: of how many, where the plan has more.
fn counted(words: &[&str], all: Option<usize>) -> String {
    let of_all = all.filter(|all| *all != words.len()).map(|all| format!(" of {all}"));
    let kinds = ESTABLISHED.into_iter().chain(["INCONCLUSIVE", "VOID", "SKIPPED"]);
    let counts = kinds.map(|word| (words.iter().filter(|said| **said == word).count(), word));
    let counts: Vec<String> = counts
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    format!("{} words{}: {}", words.len(), of_all.unwrap_or_default(), counts.join(", "))
}

/// What is not the same.
fn named(same: &[(&str, bool)]) -> Vec<String> {
    same.iter().filter(|(_, same)| !same).map(|(what, _)| (*what).to_owned()).collect()
}

/// Written so that a NaN is the same as nothing.
fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * b.abs()
}

fn same_ratio(a: Option<RatioInterval>, b: Option<RatioInterval>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            is_same(a.estimate, b.estimate) && is_same(a.low, b.low) && is_same(a.high, b.high)
        }
        _ => false,
    }
}

fn same_medians(a: Option<Medians>, b: Option<Medians>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => is_same(a.subject, b.subject) && is_same(a.reference, b.reference),
        _ => false,
    }
}
