//! The words of a series derived once more, from the evidence of its record alone: nothing is run, and every file is held to its hash
//! first, so that an edited byte is noticed.
//!
//! Taken as they are kept, because what they were derived from is not evidence: how far answers agreed (`answers.json`, from the raw
//! legs), what stood against an arm (`correct.json`, from the records of then), a plan that flags made of the spec (`plan.json`; whether it
//! is the spec's own is derived), and of the record itself when it was made, by which `grid`, by which command, and what it supersedes.

mod samples;

use records::record::Record;
use records::sampled::{AROUND, REQUESTS};
use records::{Store, StoreError};
use serde::de::DeserializeOwned;

use crate::conduct::samples::Samples;
use crate::correct::Correctness;
use crate::recording::{self, CLIENT, CellAnswers, Finished, OUTCOMES, RecordingError};
use crate::series::{Clients, Hosts, KnownArms, Outcomes, Plan};
use crate::verdict::{self, Report};

/// The words of a record could not be derived again.
#[derive(Debug, thiserror::Error)]
pub enum RecheckError {
    /// It is no record of a series.
    #[error("{record} is no record of a grid: `gate recheck` derives those of gates")]
    NoSeries {
        /// The record.
        record: String,
    },
    /// A file of its evidence is missing or is not the one that was recorded.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It keeps no such file.
    #[error("{record} keeps no {name}")]
    Missing {
        /// The record.
        record: String,
        /// The file.
        name: &'static str,
    },
    /// A file of its evidence is whole and cannot be read.
    #[error("{name} of {record}")]
    Read {
        /// The record.
        record: String,
        /// The file.
        name: &'static str,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// There is nothing to make a record of.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recheck {
    /// The verdict as the evidence gives it.
    pub derived: String,
    /// What the record says otherwise; empty where all is the same.
    pub differences: Vec<String>,
}

/// Derives the words of `record` again.
pub fn recheck(store: &Store, record: &Record) -> Result<Recheck, RecheckError> {
    if record.series.is_none() {
        return Err(RecheckError::NoSeries { record: record.id.clone() });
    }
    let kept = Kept { store, record };
    let spec = kept.text("spec.toml")?;
    let plan: Plan = kept.json("plan.json")?;
    let outcomes: Outcomes = kept.json(OUTCOMES)?;
    let hosts: Hosts = kept.json("machines.json")?;
    let arms: KnownArms = kept.json("arms.json")?;
    let correctness: Correctness = kept.json("correct.json")?;
    let answers: Vec<CellAnswers> = kept.json("answers.json")?;
    let clients: Clients = match plan.client {
        Some(_) => kept.json(CLIENT)?,
        None => Clients::new(),
    };
    let recorded: Report = kept.json("report.json")?;
    let report = verdict::judge(&plan, &outcomes)
        .under(&plan, &correctness.standing)
        .measured_by(&plan, &outcomes, &clients);
    let again = recording::assembled(&Finished {
        spec: &spec,
        plan: &plan,
        outcomes: &outcomes,
        hosts: &hosts,
        harness_sha256: record.harness_sha256.as_deref().unwrap_or_default(),
        arms: &arms,
        correctness: &correctness,
        clients: &clients,
        answers: &answers,
        report: &report,
        samples: &Samples::default(),
        reproduce: record.reproduce.clone(),
    })?;
    let mut differences = other_fields(&again, record);
    if report != recorded {
        differences.push("report.json".to_owned());
    }
    // What narrows a series is in its plan, and so never in the text.
    if records::sha256_hex(spec.as_bytes()) != plan.spec_sha256 {
        differences.push("spec.toml".to_owned());
    }
    let told = |what| format!("{what}: not as the evidence gives it");
    let mut differences: Vec<String> = differences.into_iter().map(told).collect();
    let mut derived = format!("{}: {}", again.verdict.word.as_str(), again.verdict.reason);
    let requests = kept.samples(REQUESTS, |found| samples::of_requests(found, &outcomes))?;
    let around = kept.samples(AROUND, |found| samples::of_clocks(found, &outcomes))?;
    for (name, asked) in [(REQUESTS, requests), (AROUND, around)] {
        match asked {
            Asked::Differs(found) => {
                let told = |what| format!("{name}: {what}: not as outcomes.json.gz has it");
                differences.extend(found.into_iter().map(told));
            }
            Asked::Absent => {
                let told = ["; ", name, " is not on this machine and was not asked"];
                derived.extend(told);
            }
            Asked::NotKept => {}
        }
    }
    Ok(Recheck { derived, differences })
}

/// The fields of a record that are the store's to fill in and to check.
const OF_THE_STORE: [&str; 5] = ["id", "schema_version", "started_at", "evidence", "supersedes"];

/// Every other field that the two do not share.
fn other_fields(again: &Record, record: &Record) -> Vec<String> {
    // Records were read from JSON or are about to be written as it: this cannot fail.
    let value = |record: &Record| serde_json::to_value(record).unwrap_or_default();
    let (again, record) = (value(again), value(record));
    let fields = again.as_object().into_iter().flat_map(serde_json::Map::keys);
    let derived = fields.filter(|field| !OF_THE_STORE.contains(&field.as_str()));
    derived.filter(|field| again[*field] != record[*field]).cloned().collect()
}

/// What samples say, where they were asked.
enum Asked {
    /// What they say otherwise.
    Differs(Vec<String>),
    /// They are kept elsewhere.
    Absent,
    /// The record is older than they.
    NotKept,
}

/// The evidence of a record.
pub(crate) struct Kept<'a> {
    /// Where it is kept.
    pub store: &'a Store,
    /// Whose it is.
    pub record: &'a Record,
}

impl Kept<'_> {
    fn text(&self, name: &'static str) -> Result<String, RecheckError> {
        let record = self.record.id.clone();
        let Some(entry) = self.record.evidence.iter().find(|entry| entry.name == name) else {
            return Err(RecheckError::Missing { record, name });
        };
        String::from_utf8(self.store.content(entry)?).map_err(|error| {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidData, error);
            RecheckError::Read { record, name, source }
        })
    }

    /// Asks a file of samples, on which no word rests.
    fn samples<T: DeserializeOwned>(
        &self,
        name: &'static str,
        ask: impl Fn(&T) -> Vec<String>,
    ) -> Result<Asked, RecheckError> {
        match self.json(name) {
            Ok(found) => Ok(Asked::Differs(ask(&found))),
            Err(RecheckError::Store(StoreError::Absent { .. })) => Ok(Asked::Absent),
            Err(RecheckError::Missing { .. }) => Ok(Asked::NotKept),
            Err(error) => Err(error),
        }
    }

    /// A file of it, read as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, name: &'static str) -> Result<T, RecheckError> {
        serde_json::from_str(&self.text(name)?).map_err(|error| RecheckError::Read {
            record: self.record.id.clone(),
            name,
            source: error.into(),
        })
    }
}
