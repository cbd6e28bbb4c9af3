//! A series goes on record: its words, and the evidence that every one of them follows from again.
//!
//! | evidence | what it is |
//! |---|---|
//! | `spec.toml` | the grid as its file declares it |
//! | `plan.json` | what was fixed before the first run |
//! | `outcomes.json.gz` | what became of each leg |
//! | `arms.json` | who the arms are |
//! | `correct.json` | the certificates of our arms, or what stands against them |
//! | `answers.json` | how far arms answered the same |
//! | `report.json` | the words |
//! | `samples.parquet` | every request of every leg |

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use records::record::{CheckpointRef, SCHEMA_VERSION, Series, Subject};
use records::samples::{SAMPLES_FILE, Sample, SamplesError, write_samples};
use records::{CellVerdict, Machine, Medians, RatioInterval, Record, Store, StoreError, Verdict};
use serde::Serialize;
use serde_json::Value;

use crate::conduct::known::{Known, KnownArms};
use crate::correct::{Agreement, Certificate};
use crate::rule::Violation;
use crate::series::{Comparison, Outcomes, Plan};
use crate::statistics::median;
use crate::verdict::{self, Compared, Judged, Report, Word, text};

/// How far two arms answered the same at one cell.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellAnswers {
    /// The cell.
    pub cell: String,
    /// The arms.
    pub comparison: Comparison,
    /// What was compared.
    pub agreement: Agreement,
}

/// What our arms have to show, or what stands against them, by arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correctness {
    /// Arms whose gates passed.
    pub certificates: Vec<Certificate>,
    /// What voids the comparisons of the others.
    pub standing: verdict::Standing,
}

/// Everything that a record of a series is made of.
pub struct Finished<'a> {
    /// The spec's text.
    pub spec: &'a str,
    /// The plan.
    pub plan: &'a Plan,
    /// Nothing in it was changed by hand.
    pub is_as_declared: bool,
    /// What became of its legs.
    pub outcomes: &'a Outcomes,
    /// Who the arms are.
    pub arms: &'a KnownArms,
    /// What ours have to show.
    pub correctness: &'a Correctness,
    /// How far they answered the same.
    pub answers: &'a [CellAnswers],
    /// The words.
    pub report: &'a Report,
    /// Every request of every leg.
    pub samples: &'a [Sample],
    /// The command that repeats it.
    pub reproduce: String,
}

/// A series that cannot go on record.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The samples.
    #[error(transparent)]
    Samples(#[from] SamplesError),
    /// Evidence has no JSON form.
    #[error("{name} cannot be written as JSON")]
    Json {
        /// The evidence.
        name: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// Evidence cannot be compressed.
    #[error("{name} cannot be compressed")]
    Compress {
        /// The evidence.
        name: &'static str,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A series without an arm of ours has no subject.
    #[error("arm {arm} was never started: nothing to record")]
    NoSubject {
        /// The arm that is judged.
        arm: String,
    },
}

/// Writes the record and gives its file.
pub fn record(store: &Store, finished: &Finished<'_>) -> Result<PathBuf, RecordingError> {
    let Finished { plan, report, .. } = finished;
    let mut draft = store.begin(&plan.grid)?;
    draft.evidence("spec.toml", finished.spec.as_bytes())?;
    draft.evidence("plan.json", json("plan.json", plan)?.as_bytes())?;
    let outcomes = json("outcomes.json.gz", finished.outcomes)?;
    draft.evidence("outcomes.json.gz", &compressed("outcomes.json.gz", &outcomes)?)?;
    draft.evidence("arms.json", json("arms.json", finished.arms)?.as_bytes())?;
    draft.evidence("correct.json", json("correct.json", finished.correctness)?.as_bytes())?;
    draft.evidence("answers.json", json("answers.json", &finished.answers)?.as_bytes())?;
    draft.evidence("report.json", json("report.json", report)?.as_bytes())?;
    draft.evidence(SAMPLES_FILE, &write_samples(finished.samples)?)?;
    Ok(draft.commit(assembled(finished)?)?)
}

/// The record of a series; the store fills in what it knows.
pub fn assembled(finished: &Finished<'_>) -> Result<Record, RecordingError> {
    let Finished { plan, report, arms, .. } = finished;
    let judged = plan.comparisons.first().map_or("", |comparison| &comparison.subject);
    let known = arms.get(judged);
    let known = known.ok_or_else(|| RecordingError::NoSubject { arm: judged.to_owned() })?;
    let is_compared = |verdict: &&verdict::Verdict| matches!(verdict.judged, Judged::Compared(_));
    let compared = report.verdicts.iter().filter(is_compared).count() as u64;
    Ok(Record {
        schema_version: SCHEMA_VERSION,
        id: String::new(),
        gate: plan.grid.clone(),
        kinds: vec!["grid".to_owned()],
        spec_sha256: plan.spec_sha256.clone(),
        started_at: records::Timestamp::UNIX_EPOCH,
        duration_ms: duration_ms(finished.outcomes),
        subject: subject(judged, known, plan),
        oracle: None,
        checkpoint: Some(CheckpointRef {
            name: known.checkpoint.clone(),
            sha256: known.checkpoint_sha256.clone(),
        }),
        inputs_sha256: None,
        harness_sha256: None,
        machine: Machine::capture(),
        verdict: whole(report),
        compared,
        measurements: Vec::new(),
        divergences: Vec::new(),
        evidence: Vec::new(),
        reproduce: finished.reproduce.clone(),
        supersedes: None,
        resumed_answers: None,
        series: Some(Series {
            plan_sha256: report.plan_sha256.clone(),
            arms: arms.iter().map(|(name, known)| (name.clone(), known.identity.clone())).collect(),
            pairs: plan.pairs() as u64,
            is_as_declared: finished.is_as_declared,
            cells: cells(finished),
        }),
    })
}

/// The gravest word of all, the rules of all, and how often each word was said.
fn whole(report: &Report) -> Verdict {
    let mut rules: Vec<String> = report
        .verdicts
        .iter()
        .flat_map(verdict::Verdict::rules)
        .map(|rule| rule.id().to_owned())
        .collect();
    rules.sort_unstable();
    rules.dedup();
    let said = |word: Word| report.verdicts.iter().filter(|v| v.word() == word).count();
    let counts = Word::ALL.into_iter().map(|word| (word, said(word)));
    let counts: Vec<String> =
        counts.filter(|(_, n)| *n > 0).map(|(word, n)| format!("{n} {word}")).collect();
    let reason = format!("{} words: {}", report.verdicts.len(), counts.join(", "));
    Verdict { word: report.word().recorded(), rules, reason }
}

fn cells(finished: &Finished<'_>) -> Vec<CellVerdict> {
    let concurrency: BTreeMap<&str, u32> =
        finished.plan.cells.iter().map(|cell| (cell.id.as_str(), cell.concurrency)).collect();
    let cell = |verdict: &verdict::Verdict| {
        let compared = match &verdict.judged {
            Judged::Compared(compared) => Some(&**compared),
            Judged::Void(_) | Judged::Skipped(_) | Judged::Unestimated(_) => None,
        };
        let answers = finished.answers.iter().find(|answers| {
            answers.cell == verdict.cell && answers.comparison == verdict.comparison
        });
        CellVerdict {
            cell: verdict.cell.clone(),
            concurrency: concurrency.get(verdict.cell.as_str()).copied().unwrap_or(0),
            subject: verdict.comparison.subject.clone(),
            reference: verdict.comparison.reference.clone(),
            metric: verdict.metric.clone(),
            word: verdict.word().name().to_owned(),
            ratio: compared.and_then(ratio),
            medians: compared.and_then(medians),
            answers: answers.map(|answers| answers.agreement.text()),
            rules: verdict.rules().iter().map(|rule| rule.id().to_owned()).collect(),
            reason: text::line(verdict),
        }
    };
    finished.report.verdicts.iter().map(cell).collect()
}

/// The estimate with the interval that decides; `None` where that interval does not hold the estimate, as when cycles and time say
/// another thing.
fn ratio(compared: &Compared) -> Option<RatioInterval> {
    let (low, high) = (compared.deciding.lower.exp(), compared.deciding.upper.exp());
    let estimate = compared.ratio();
    let is_interval = low <= estimate && estimate <= high && high.is_finite() && low > 0.0;
    is_interval.then_some(RatioInterval { estimate, low, high })
}

fn medians(compared: &Compared) -> Option<Medians> {
    let (reference, subject): (Vec<f64>, Vec<f64>) =
        compared.described.values.iter().copied().unzip();
    Some(Medians { subject: median(&subject)?, reference: median(&reference)? })
}

/// The engine as it described itself; what an oracle as subject does not say stays empty.
fn subject(name: &str, known: &Known, plan: &Plan) -> Subject {
    let info = known.identity.get("info").unwrap_or(&known.identity);
    let text = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    Subject {
        name: name.to_owned(),
        version: text(info, "version"),
        commit: info.get("commit").and_then(Value::as_str).map(str::to_owned),
        source_sha256: text(info, "source_sha256"),
        binary_sha256: text(&known.identity, "binary_sha256"),
        profile: text(info, "profile"),
        threads: plan.launch.threads.0,
        info: info.clone(),
    }
}

/// From the first leg to the beginning of the last.
fn duration_ms(outcomes: &Outcomes) -> u64 {
    let times = outcomes.values().map(|outcome| outcome.at_s);
    (1e3 * times.fold(0.0, f64::max)) as u64
}

fn json(name: &'static str, value: &impl Serialize) -> Result<String, RecordingError> {
    records::canonical::canonical_json(value)
        .map_err(|source| RecordingError::Json { name, source })
}

fn compressed(name: &'static str, text: &str) -> Result<Vec<u8>, RecordingError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder
        .write_all(text.as_bytes())
        .and_then(|()| encoder.finish())
        .map_err(|source| RecordingError::Compress { name, source })
}

/// What our arms have to show: by the plan's gates and what is on record.
pub fn correctness(plan: &Plan, arms: &KnownArms, on_record: &[Record]) -> Correctness {
    use crate::correct::certificate::{Subject, certify};
    use crate::rule::Rule;

    let mut found = Correctness::default();
    for (arm, gates) in &plan.correct.gates {
        let arm = &arm.0;
        let Some(known) = arms.get(arm) else { continue };
        let certified = match known.source_sha256() {
            Some(source_sha256) => {
                let checkpoint_sha256 = &known.checkpoint_sha256;
                certify(Subject { arm, source_sha256, checkpoint_sha256 }, gates, on_record)
            }
            None => Err(Violation::new(Rule::Correct, format!("{arm} does not say what it is"))),
        };
        match certified {
            Ok(certificate) => found.certificates.push(certificate),
            Err(broken) => drop(found.standing.insert(arm.clone(), vec![broken])),
        }
    }
    found
}
