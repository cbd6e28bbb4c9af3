//! The evidence of a series, read for what a page shows of it. Keys that are not shown are passed over: the grid's own reader
//! is strict, and the record carries the words.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::digest::sha256_hex;
use crate::record::{CellVerdict, Series};
use crate::review::run::File;

/// The most that a compressed file may hold, in bytes: a million legs are a quarter of it.
const LARGEST: u64 = 4 << 30;

/// What there is to draw from.
pub(super) struct Evidence {
    pub(super) plan: Plan,
    pub(super) outcomes: BTreeMap<String, Outcome>,
    pub(super) report: Option<Report>,
    pub(super) correctness: Option<Correctness>,
}

#[derive(Deserialize)]
pub(super) struct Plan {
    pub(super) null: NullArm,
    pub(super) cells: Vec<PlannedCell>,
    pub(super) axes: Vec<Axis>,
    pub(super) sessions: u32,
    pub(super) looks: Vec<u64>,
    pub(super) alpha: f64,
    pub(super) legs: Vec<Leg>,
}

#[derive(Deserialize)]
pub(super) struct NullArm {
    pub(super) of: String,
    pub(super) twin: String,
}

#[derive(Deserialize)]
pub(super) struct PlannedCell {
    pub(super) id: String,
    pub(super) concurrency: u32,
}

#[derive(Deserialize)]
pub(super) struct Axis {
    pub(super) metric: String,
    pub(super) direction: String,
}

#[derive(Deserialize)]
pub(super) struct Leg {
    pub(super) id: String,
    pub(super) cell: String,
    pub(super) block: Option<u64>,
    pub(super) arm: String,
    pub(super) role: String,
}

#[derive(Deserialize)]
pub(super) struct Outcome {
    pub(super) at_s: f64,
    pub(super) ended: Ended,
    #[serde(default)]
    pub(super) violations: Vec<Violation>,
    pub(super) clock: Option<Clock>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Ended {
    Measured(BTreeMap<String, f64>),
    Failed(String),
    Skipped(String),
}

#[derive(Deserialize)]
pub(super) struct Violation {
    pub(super) rule: String,
    pub(super) reason: String,
}

#[derive(Clone, Copy, Deserialize)]
pub(super) struct Clock {
    pub(super) mean: f64,
    pub(super) median: f64,
}

/// V-CLOCK-OFF: the most, in percent, by which the mean or the median clock of two legs may differ for a ratio of them.
const CLOCK_OFF_PERCENT: f64 = 1.0;

impl Clock {
    /// Whether a ratio of the two legs would not be the clock's. A clock that is no number is near none.
    fn is_near(self, other: Self) -> bool {
        let is_near = |a: f64, b: f64| 100.0 * (a / b - 1.0).abs() <= CLOCK_OFF_PERCENT;
        is_near(self.mean, other.mean) && is_near(self.median, other.median)
    }
}

#[derive(Deserialize)]
pub(super) struct Report {
    pub(super) verdicts: Vec<Judged>,
}

#[derive(Deserialize)]
pub(super) struct Judged {
    pub(super) cell: String,
    pub(super) comparison: Comparison,
    pub(super) metric: String,
    #[serde(rename = "judged")]
    pub(super) said: serde_json::Value,
}

#[derive(Deserialize)]
pub(super) struct Comparison {
    pub(super) reference: String,
    pub(super) subject: String,
}

/// An interval on the scale of the logarithm; an end that is open is none.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Interval {
    pub(super) lower: Option<f64>,
    pub(super) upper: Option<f64>,
}

#[derive(Deserialize)]
pub(super) struct Discard {
    pub(super) block: u64,
    pub(super) clock_mean_off: f64,
    pub(super) clock_median_off: f64,
}

/// What arms have to show, and what stands against others.
#[derive(Deserialize)]
pub(super) struct Correctness {
    pub(super) certificates: Vec<Certificate>,
    pub(super) standing: BTreeMap<String, Vec<Violation>>,
}

#[derive(Deserialize)]
pub(super) struct Certificate {
    pub(super) arm: String,
    /// By gate, the id of the record in which it passed.
    pub(super) passed: BTreeMap<String, String>,
}

/// Reads what there is; the error says what is missing, or that it is of another plan.
pub(super) fn evidence(series: &Series, files: &[File]) -> Result<Evidence, String> {
    let named = |name| File::named(files, name);
    let present = |name| named(name).ok_or_else(|| format!("{name} is not among its files"));
    let plan = present("plan.json")?;
    let found = sha256_hex(&plan.bytes);
    if found != series.plan_sha256 {
        return Err(format!(
            "plan.json hashes to {found}, the record names {}",
            series.plan_sha256
        ));
    }
    Ok(Evidence {
        plan: parse(plan)?,
        outcomes: unpacked(present("outcomes.json.gz")?)?,
        report: named("report.json").map(parse).transpose()?,
        correctness: named("correct.json").map(parse).transpose()?,
    })
}

fn parse<T: DeserializeOwned>(file: &File) -> Result<T, String> {
    serde_json::from_slice(&file.bytes).map_err(|error| format!("{}: {error}", file.name))
}

/// The same of a file that is compressed.
fn unpacked<T: DeserializeOwned>(file: &File) -> Result<T, String> {
    let mut text = Vec::new();
    let mut unpacked = GzDecoder::new(file.bytes.as_slice()).take(LARGEST);
    unpacked.read_to_end(&mut text).map_err(|error| format!("{}: {error}", file.name))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", file.name))
}

impl Plan {
    /// Every arm that runs, in the order of the plan.
    pub(super) fn arms(&self) -> Vec<&str> {
        let mut arms: Vec<&str> = Vec::new();
        for leg in &self.legs {
            if !arms.contains(&leg.arm.as_str()) {
                arms.push(&leg.arm);
            }
        }
        arms
    }

    /// Whether less is better.
    pub(super) fn is_turned(&self, metric: &str) -> bool {
        self.axes.iter().any(|axis| axis.metric == metric && axis.direction == "lower")
    }
}

impl Outcome {
    /// A metric, where the leg ended well, broke no rule and has one that is a positive number.
    fn metric(&self, name: &str) -> Option<f64> {
        match &self.ended {
            Ended::Measured(metrics) if self.violations.is_empty() => {
                metrics.get(name).copied().filter(|value| value.is_finite() && *value > 0.0)
            }
            Ended::Measured(_) | Ended::Failed(_) | Ended::Skipped(_) => None,
        }
    }

    /// Why a leg that was begun is no number: the rules that it broke, or that it failed.
    pub(super) fn broke(&self) -> Option<String> {
        match &self.ended {
            Ended::Failed(_) => Some("failed".to_owned()),
            Ended::Measured(_) if !self.violations.is_empty() => {
                let mut rules: Vec<&str> =
                    self.violations.iter().map(|found| found.rule.as_str()).collect();
                rules.sort_unstable();
                rules.dedup();
                Some(rules.join(", "))
            }
            Ended::Measured(_) | Ended::Skipped(_) => None,
        }
    }

    /// Whether the clocks of two legs were seen and lie too far apart for a ratio.
    pub(super) fn is_apart(&self, other: &Self) -> bool {
        self.clock.zip(other.clock).is_some_and(|(clock, other)| !clock.is_near(other))
    }
}

impl Evidence {
    /// A metric of a leg. A leg that broke a rule is no number, nor is any of an arm against which a rule stands.
    pub(super) fn value(&self, leg: &Leg, metric: &str) -> Option<f64> {
        let standing = self.correctness.as_ref().and_then(|found| found.standing.get(&leg.arm));
        if standing.is_some_and(|broken| !broken.is_empty()) {
            return None;
        }
        self.outcomes.get(&leg.id)?.metric(metric)
    }

    /// A part of what the judge said of a word, where it compared and the part is there.
    pub(super) fn compared<T: DeserializeOwned>(&self, cell: &CellVerdict, key: &str) -> Option<T> {
        let is = |judged: &&Judged| {
            judged.cell == cell.cell
                && judged.metric == cell.metric
                && judged.comparison.subject == cell.subject
                && judged.comparison.reference == cell.reference
        };
        let judged = self.report.as_ref()?.verdicts.iter().find(is)?;
        T::deserialize(judged.said.get("compared")?.get(key)?).ok()
    }
}
