//! The evidence of a series, read for what a page shows of it. Keys that are not shown are passed over: the grid's own reader
//! is strict, and the record carries the words.

mod legs;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::digest::sha256_hex;
use crate::packed::unpack;
use crate::record::{CellVerdict, Record, Series};
use crate::review::run::File;
use crate::sampled::{AROUND, Around, REQUESTS, Requests};
pub(super) use legs::{Ended, Leg, Outcome};

/// V-CLOCK-OFF: the most, in percent, by which the mean or the median clock of two legs may differ for a ratio of them.
const CLOCK_OFF_PERCENT: f64 = 1.0;

/// The text of the large files, from which legs borrow.
pub(super) struct Texts<'f> {
    plan: Cow<'f, [u8]>,
    outcomes: Cow<'f, [u8]>,
}

/// What there is to draw from.
pub(super) struct Evidence<'t> {
    pub(super) plan: Plan,
    /// Every arm that runs, in the order of the plan.
    pub(super) arms: Vec<String>,
    /// In the order of the plan.
    pub(super) legs: Vec<Leg<'t>>,
    /// The measured legs that were begun or skipped, by cell and arm, in the order of their blocks.
    runs: Vec<Vec<usize>>,
    /// Of each arm, whether a rule stands against it.
    is_out: Vec<bool>,
    pub(super) report: Option<Report>,
    pub(super) correctness: Option<Correctness>,
    pub(super) requests: Result<Requests, Absence>,
    pub(super) around: Result<Around, Absence>,
}

/// Why there are no samples.
#[derive(Clone, Copy)]
pub(super) enum Absence {
    /// The record names no such file.
    NotKept,
    /// It names one that is not on this machine.
    Elsewhere,
}

impl Absence {
    /// The reason, of the file `name`.
    pub(super) fn told(self, name: &str) -> String {
        match self {
            Self::NotKept => format!("this record keeps no {name}"),
            Self::Elsewhere => format!("{name} is not on this machine"),
        }
    }
}

/// A plan without its legs.
#[derive(Deserialize)]
pub(super) struct Plan {
    pub(super) null: NullArm,
    pub(super) cells: Vec<PlannedCell>,
    pub(super) axes: Vec<Axis>,
    pub(super) sessions: u32,
    pub(super) looks: Vec<u64>,
    pub(super) alpha: f64,
}

/// A plan as it stands in its file.
#[derive(Deserialize)]
struct WholePlan<'t> {
    #[serde(borrow)]
    legs: Vec<legs::Planned<'t>>,
    null: NullArm,
    cells: Vec<PlannedCell>,
    axes: Vec<Axis>,
    sessions: u32,
    looks: Vec<u64>,
    alpha: f64,
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
pub(super) struct Violation {
    pub(super) rule: String,
    pub(super) reason: String,
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
    said: Said,
}

/// What the judge said, where it compared.
#[derive(Deserialize)]
struct Said {
    compared: Option<Compared>,
}

/// What a page shows of a comparison beside its word.
#[derive(Deserialize)]
pub(super) struct Compared {
    /// The interval of the null arm.
    pub(super) null: Option<Interval>,
    /// The pairs that are no ratio.
    #[serde(default)]
    pub(super) discarded: Vec<Discard>,
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

/// The files that every drawing needs; the error says what is missing, or that it is of another plan.
pub(super) fn texts<'f>(series: &Series, files: &'f [File]) -> Result<Texts<'f>, String> {
    let present =
        |name| File::named(files, name).ok_or_else(|| format!("{name} is not among its files"));
    let plan = present("plan.json")?;
    let found = sha256_hex(&plan.bytes);
    if found != series.plan_sha256 {
        return Err(format!(
            "plan.json hashes to {found}, the record names {}",
            series.plan_sha256
        ));
    }
    Ok(Texts { plan: content(plan)?, outcomes: content(present("outcomes.json.gz")?)? })
}

/// Reads what there is.
pub(super) fn evidence<'t>(
    record: &Record,
    files: &[File],
    texts: &'t Texts<'_>,
) -> Result<Evidence<'t>, String> {
    let named = |name| File::named(files, name);
    let read = |name: &str, error: serde_json::Error| format!("{name}: {error}");
    let plan = serde_json::from_slice(&texts.plan).map_err(|error| read("plan.json", error))?;
    let outcomes =
        serde_json::from_slice(&texts.outcomes).map_err(|error| read("outcomes.json.gz", error))?;
    let WholePlan { legs: planned, null, cells, axes, sessions, looks, alpha } = plan;
    let ids: Vec<&str> = cells.iter().map(|cell| cell.id.as_str()).collect();
    let (legs, arms) = legs::joined(planned, outcomes, &ids)?;
    let correctness: Option<Correctness> = named("correct.json").map(parse).transpose()?;
    let standing = correctness.as_ref().map(|found| &found.standing);
    let is_out = |arm: &String| {
        standing.and_then(|all| all.get(arm)).is_some_and(|broken| !broken.is_empty())
    };
    Ok(Evidence {
        runs: runs(&legs, cells.len(), arms.len()),
        is_out: arms.iter().map(is_out).collect(),
        plan: Plan { null, cells, axes, sessions, looks, alpha },
        arms,
        legs,
        report: named("report.json").map(parse).transpose()?,
        correctness,
        requests: samples(record, files, REQUESTS)?,
        around: samples(record, files, AROUND)?,
    })
}

/// The places of the measured legs that have an outcome, by cell and arm, in the order of their blocks.
fn runs(legs: &[Leg<'_>], cells: usize, arms: usize) -> Vec<Vec<usize>> {
    let mut runs = vec![Vec::new(); cells * arms];
    let measured = legs
        .iter()
        .enumerate()
        .filter(|(_, leg)| leg.is_measured && leg.block.is_some() && leg.outcome.is_some());
    for (place, leg) in measured {
        runs[leg.cell * arms + leg.arm].push(place);
    }
    for places in &mut runs {
        places.sort_by_key(|place| legs[*place].block);
    }
    runs
}

/// A file of samples, or why there is none.
fn samples<T: DeserializeOwned>(
    record: &Record,
    files: &[File],
    name: &str,
) -> Result<Result<T, Absence>, String> {
    match File::named(files, name) {
        Some(file) => parse(file).map(Ok),
        None if record.evidence.iter().any(|entry| entry.name == name) => {
            Ok(Err(Absence::Elsewhere))
        }
        None => Ok(Err(Absence::NotKept)),
    }
}

fn content(file: &File) -> Result<Cow<'_, [u8]>, String> {
    unpack(&file.name, &file.bytes).map_err(|error| format!("{}: {error}", file.name))
}

fn parse<T: DeserializeOwned>(file: &File) -> Result<T, String> {
    serde_json::from_slice(&content(file)?).map_err(|error| format!("{}: {error}", file.name))
}

impl Plan {
    /// Whether less is better.
    pub(super) fn is_turned(&self, metric: &str) -> bool {
        self.axes.iter().any(|axis| axis.metric == metric && axis.direction == "lower")
    }
}

impl<'t> Evidence<'t> {
    /// The runs of an arm at a cell, by the places of both, in the order of their blocks.
    pub(super) fn runs(&self, cell: usize, arm: usize) -> impl Iterator<Item = &Leg<'t>> {
        self.runs[cell * self.arms.len() + arm].iter().map(|place| &self.legs[*place])
    }

    /// The same by name; none where there is no such cell or arm.
    pub(super) fn named(&self, cell: &str, arm: &str) -> Vec<&Leg<'t>> {
        let cell = self.plan.cells.iter().position(|own| own.id == cell);
        let arm = self.arms.iter().position(|own| own == arm);
        cell.zip(arm).map_or_else(Vec::new, |(cell, arm)| self.runs(cell, arm).collect())
    }

    /// A metric of a leg, where it is one that is a positive number. A leg that broke a rule is no number, nor is any of an arm against
    /// which a rule stands.
    pub(super) fn value(&self, leg: &Leg<'_>, metric: &str) -> Option<f64> {
        leg.outcome.as_ref().filter(|_| !self.is_out[leg.arm])?.metric(metric)
    }

    /// Whether a leg has numbers.
    pub(super) fn counts(&self, leg: &Leg<'_>) -> bool {
        !self.is_out[leg.arm] && leg.outcome.as_ref().is_some_and(Outcome::is_clean)
    }

    /// What the judge said of a word, where it compared.
    pub(super) fn compared(&self, cell: &CellVerdict) -> Option<&Compared> {
        let is = |judged: &&Judged| {
            judged.cell == cell.cell
                && judged.metric == cell.metric
                && judged.comparison.subject == cell.subject
                && judged.comparison.reference == cell.reference
        };
        self.report.as_ref()?.verdicts.iter().find(is)?.said.compared.as_ref()
    }
}
