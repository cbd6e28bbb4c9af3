//! The record: everything one run of a gate found out, in the form in which it is kept.
//!
//! Absences are part of the design: "not measured" is `None` and never 0, and a record has no field that a reader would have
//! to compute again from prose.
//!
//! A field that a later program added is no part of these types. [`crate::store::read_record`] reads the rest and keeps it in
//! [`crate::store::Kept::unknown`]; nothing else reads records.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::Machine;
use crate::metric::{Measurement, MeasurementError};

/// The version of the fields below. A change of meaning is a new number; old files stay as they are.
pub const SCHEMA_VERSION: u32 = 1;

/// One run of one gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Always [`SCHEMA_VERSION`] on write; checked before any other field on read.
    pub schema_version: u32,
    /// `DATE-GATE-HASH`, the stem of the file's name; given by [`crate::store::Draft::commit`].
    pub id: String,
    /// The gate's name, the stem of its spec.
    pub gate: String,
    /// The kinds that judged, such as `token-exact`.
    pub kinds: Vec<String>,
    /// SHA-256 of the spec as it was read.
    pub spec_sha256: String,
    /// When the record was opened, in UTC; nothing was measured before.
    pub started_at: Timestamp,
    /// From opening to the verdict, in milliseconds.
    pub duration_ms: u64,
    /// What was judged.
    pub subject: Subject,
    /// Whom it was judged by, if anyone.
    pub oracle: Option<OracleRef>,
    /// The checkpoint both sides read.
    pub checkpoint: Option<CheckpointRef>,
    /// SHA-256 of the inputs file of the spec; `None` for a spec without one, and in records older than this field.
    #[serde(default)]
    pub inputs_sha256: Option<String>,
    /// [`crate::harness_digest`] as embedded in the program that judged, or of a series SHA-256 of that program's own bytes; `None`
    /// in records older than this field.
    #[serde(default)]
    pub harness_sha256: Option<String>,
    /// Where it ran; of a series on several machines the one that ran its first leg.
    pub machine: Machine,
    /// What came out.
    pub verdict: Verdict,
    /// Cases that were really compared; a skipped case does not count.
    pub compared: u64,
    /// The numbers, each with its statistic and sample count.
    pub measurements: Vec<Measurement>,
    /// The first divergence of each case that diverged; the gate kind gives the shape.
    pub divergences: Vec<Value>,
    /// Files kept beside the record; given by [`crate::store::Draft::commit`].
    pub evidence: Vec<Evidence>,
    /// The command that repeats the run.
    pub reproduce: String,
    /// The id of an earlier record that this one corrects.
    pub supersedes: Option<String>,
    /// Answers that an interrupted run of the same comparison had left, and that were not asked for again; `None` where the run
    /// was one piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_answers: Option<u64>,
    /// What a series of interleaved runs said; `None` where a gate judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
}

impl Record {
    /// When it was opened, to the minute, in UTC.
    pub fn opened(&self) -> String {
        self.started_at.strftime("%Y-%m-%d %H:%M").to_string()
    }
}

/// A series of interleaved runs: its arms, and a word for every axis of every comparison at every cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// SHA-256 of the plan, which was fixed before the first run.
    pub plan_sha256: String,
    /// What each arm said of itself, by its name.
    pub arms: BTreeMap<String, Value>,
    /// Every machine, and every boot of it, that ran a leg, in the order of the legs; empty in records older than this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<Machine>,
    /// Pairs of runs that each word rests on.
    pub pairs: u64,
    /// The plan is the spec's own: no arm, cell or pair was left out or added by hand.
    pub is_as_declared: bool,
    /// The words, in the order of cells, comparisons and axes.
    pub cells: Vec<CellVerdict>,
}

/// What is said of one axis of one comparison at one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellVerdict {
    /// The cell's name, such as `c8`.
    pub cell: String,
    /// Requests in flight.
    pub concurrency: u32,
    /// The arm that is judged.
    pub subject: String,
    /// The arm it is judged by.
    pub reference: String,
    /// The metric with its unit, such as `tpot_ms_p50`.
    pub metric: String,
    /// The word of the grid, such as `IMPROVED`.
    pub word: String,
    /// Subject over reference, turned so that above 1 is better; `None` wherever a rule fired or nothing was compared.
    pub ratio: Option<RatioInterval>,
    /// The medians of the runs that were compared, in the metric's unit; `None` where there is no ratio.
    #[serde(default)]
    pub medians: Option<Medians>,
    /// How far both arms answered the same, in a line; `None` where answers were not kept.
    #[serde(default)]
    pub answers: Option<String>,
    /// Ids of the rules that fired.
    pub rules: Vec<String>,
    /// Why, and what would be cheapest to do about it.
    pub reason: String,
}

/// The words of a grid that say something about its arms; VOID, SKIPPED and INCONCLUSIVE do not.
pub(crate) const ESTABLISHED: [&str; 5] = ["IMPROVED", "EQUIVALENT", "PASS", "FAIL", "REGRESSED"];

/// The medians of two arms, in the metric's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Medians {
    /// Of the arm that is judged.
    pub subject: f64,
    /// Of the arm it is judged by.
    pub reference: f64,
}

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioInterval {
    /// The estimate.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The engine under test as it described itself, never as the command line wished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The program's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit it was built from, where it knows.
    pub commit: Option<String>,
    /// [`crate::source_digest`] as embedded when it was built.
    pub source_sha256: String,
    /// SHA-256 of the program file.
    pub binary_sha256: String,
    /// The numerics profile.
    pub profile: String,
    /// Threads that computed.
    pub threads: u32,
    /// Its whole answer to `info --json`.
    pub info: Value,
}

/// The oracle that answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OracleRef {
    /// The name of its registry entry.
    pub name: String,
    /// Whether a process answered now, or its answers of an earlier day did.
    pub source: OracleSource,
    /// When a golden was captured; `None` for a live oracle.
    pub captured_at: Option<Timestamp>,
    /// SHA-256 of the manifest of the golden that answered or, beside a live oracle, whose measured noise the record repeats; the
    /// manifest names the digests of the answers. `None` without one, and in records older than this field.
    #[serde(default)]
    pub golden_sha256: Option<String>,
    /// SHA-256 of its definition in the registry: what it is built from and how, and how it is launched. `None` in records older
    /// than this field.
    #[serde(default)]
    pub definition_sha256: Option<String>,
    /// Its identity as read back from the process. `source_sha256` inside is compared with the pin.
    pub identity: Value,
}

/// Where an oracle's answers came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OracleSource {
    /// A process that ran beside the subject.
    Live,
    /// Files that the oracle wrote when they were captured.
    Golden,
}

/// A checkpoint by name and content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointRef {
    /// The name of its spec.
    pub name: String,
    /// SHA-256 of its file.
    pub sha256: String,
}

/// The outcome, with every rule that fired and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The word.
    pub word: VerdictWord,
    /// Ids of all validity rules that fired; not only the first.
    pub rules: Vec<String>,
    /// Why, in one sentence.
    pub reason: String,
}

/// What a gate can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum VerdictWord {
    /// Compared and within the spec.
    #[serde(rename = "PASS")]
    Pass,
    /// Compared and outside the spec.
    #[serde(rename = "FAIL")]
    Fail,
    /// Ran, but coverage, spread or clock is too poor for a verdict.
    #[serde(rename = "NOT ESTABLISHED")]
    NotEstablished,
    /// A validity rule fired: no number, not a bad number.
    #[serde(rename = "VOID")]
    Void,
    /// Nothing was compared.
    #[serde(rename = "SKIPPED")]
    Skipped,
}

impl VerdictWord {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Pass, Self::Fail, Self::NotEstablished, Self::Void, Self::Skipped];

    /// The word as it is written and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::NotEstablished => "NOT ESTABLISHED",
            Self::Void => "VOID",
            Self::Skipped => "SKIPPED",
        }
    }
}

/// A file kept beside the record, addressed by its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What it is to the reader, such as `subject.jsonl`.
    pub name: String,
    /// Where it lies, relative to the store.
    pub path: String,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
    /// Whether it is too large for git and lies outside the store, under its digest. Not written where it lies inside, so that
    /// records older than this field keep their bytes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
}

/// A record that contradicts itself, found before it is written and after it is read.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum RecordError {
    /// An unusable gate name: it becomes part of a file name.
    #[error("gate name {found:?}: expected lowercase letters, digits, '.' and '-' only")]
    GateName {
        /// The name as given.
        found: String,
    },
    /// A verdict that rests on a comparison, without one.
    #[error("verdict {} with 0 compared cases: nothing compared is SKIPPED", .word.as_str())]
    NothingCompared {
        /// The word as given.
        word: VerdictWord,
    },
    /// A skip that claims comparisons.
    #[error("verdict SKIPPED with {compared} compared cases: expected 0")]
    SkippedButCompared {
        /// The count as given.
        compared: u64,
    },
    /// A void without a rule, or a pass with one.
    #[error("verdict {} with rules {rules:?}: VOID names at least one rule, PASS names none", .word.as_str())]
    Rules {
        /// The word as given.
        word: VerdictWord,
        /// The rules as given.
        rules: Vec<String>,
    },
    /// A digest that is not one.
    #[error("{field} is {found:?}: expected 64 lowercase hexadecimal digits")]
    Digest {
        /// The field's name.
        field: &'static str,
        /// Its content.
        found: String,
    },
    /// A ratio where a rule fired.
    #[error("{at} has a ratio and rules {rules:?}: where a rule fired there is no number")]
    RatioBesideRules {
        /// Cell, arms and metric.
        at: String,
        /// The rules as given.
        rules: Vec<String>,
    },
    /// An interval that is none.
    #[error("{at}: {ratio:?}: expected 0 < low <= estimate <= high")]
    Ratio {
        /// Cell, arms and metric.
        at: String,
        /// The ratio as given.
        ratio: RatioInterval,
    },
    /// A number that is not one.
    #[error(transparent)]
    Measurement(#[from] MeasurementError),
}

impl Record {
    /// Checks what the types cannot say.
    pub fn validate(&self) -> Result<(), RecordError> {
        if !is_gate_name(&self.gate) {
            return Err(RecordError::GateName { found: self.gate.clone() });
        }
        let word = self.verdict.word;
        match word {
            VerdictWord::Pass | VerdictWord::Fail if self.compared == 0 => {
                return Err(RecordError::NothingCompared { word });
            }
            VerdictWord::Skipped if self.compared > 0 => {
                return Err(RecordError::SkippedButCompared { compared: self.compared });
            }
            _ => {}
        }
        let rules = &self.verdict.rules;
        if (word == VerdictWord::Void && rules.is_empty())
            || (word == VerdictWord::Pass && !rules.is_empty())
        {
            return Err(RecordError::Rules { word, rules: rules.clone() });
        }
        let golden = self.oracle.as_ref().and_then(|oracle| oracle.golden_sha256.as_ref());
        for (field, found) in [
            ("spec_sha256", Some(&self.spec_sha256)),
            ("subject.source_sha256", Some(&self.subject.source_sha256)),
            ("subject.binary_sha256", Some(&self.subject.binary_sha256)),
            ("harness_sha256", self.harness_sha256.as_ref()),
            ("oracle.golden_sha256", golden),
        ] {
            if let Some(found) = found.filter(|found| !is_sha256(found)) {
                return Err(RecordError::Digest { field, found: found.clone() });
            }
        }
        self.measurements.iter().try_for_each(Measurement::validate)?;
        self.series.iter().flat_map(|series| &series.cells).try_for_each(CellVerdict::validate)
    }
}

impl CellVerdict {
    /// Whether its word says something about the arms. A word of a later grid that is not known here does not.
    pub fn is_established(&self) -> bool {
        ESTABLISHED.contains(&self.word.as_str())
    }

    /// The ratio of an established word: the only one that is a number of the record.
    pub fn valid_ratio(&self) -> Option<RatioInterval> {
        self.ratio.filter(|_| self.is_established())
    }

    /// No rule that fired leaves a ratio, and a ratio is positive numbers in order.
    fn validate(&self) -> Result<(), RecordError> {
        let at = || format!("{} {}/{} {}", self.cell, self.subject, self.reference, self.metric);
        let Some(ratio) = self.ratio else { return Ok(()) };
        if !self.rules.is_empty() {
            return Err(RecordError::RatioBesideRules { at: at(), rules: self.rules.clone() });
        }
        let is_ordered = 0.0 < ratio.low
            && ratio.low <= ratio.estimate
            && ratio.estimate <= ratio.high
            && ratio.high.is_finite();
        if is_ordered { Ok(()) } else { Err(RecordError::Ratio { at: at(), ratio }) }
    }
}

/// Whether `name` can be a gate's name.
pub fn is_gate_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'))
}

/// Whether `text` is a SHA-256 as we write it.
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
