//! What is kept beside a record, so that its verdict can be derived again without running anything.
//!
//! `spec.toml` is the gate's spec as it was, `collected.json.gz` everything that the judge was given, `facts.json` what is
//! known beside that and the validity rules are asked of, `elapsed.json` its wall time where the spec has a budget,
//! `precedent.json` what was on record about the oracle's own noise. `cases.jsonl` and `texts.jsonl` show the ids to a reader.

use records::packed::pack;
use records::record::Record;
use records::store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::Facts;
use crate::judge::Trouble;
use crate::kind::oracle_consistency::Precedents;
use crate::samples::{GenerationSample, Samples, TextCorpus};

const SPEC: &str = "spec.toml";
/// Compressed, as its name says.
const COLLECTED: &str = "collected.json.gz";
const FACTS: &str = "facts.json";
/// In records older than [`FACTS`]: the broken rules alone.
const VIOLATIONS: &str = "violations.json";
/// Where the spec declares a budget: the run's wall time in milliseconds.
const ELAPSED: &str = "elapsed.json";
/// Where choices are compared with an oracle's: what is on record about its own.
const PRECEDENT: &str = "precedent.json";

/// One file of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceFile {
    /// Its name in the record.
    pub name: &'static str,
    /// Its text, before it is compressed where the name says so.
    pub text: String,
}

impl EvidenceFile {
    /// The bytes to keep of the text, after `change`.
    pub fn bytes(&self, change: impl Fn(&str) -> String) -> Vec<u8> {
        pack(self.name, change(&self.text).as_bytes())
    }
}

/// What the judge was given.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Collected {
    Samples(Samples),
    Trouble(Trouble),
}

/// The files of a run.
pub fn of(
    spec: &str,
    collected: &Result<Samples, Trouble>,
    facts: &Facts,
    elapsed_ms: Option<u64>,
    precedents: Option<&Precedents>,
) -> Vec<EvidenceFile> {
    // Text, numbers and lists of them: writing them as JSON does not fail.
    let text = |json: serde_json::Result<String>| json.unwrap_or_default();
    let given = match collected.clone() {
        Ok(samples) => Collected::Samples(samples),
        Err(trouble) => Collected::Trouble(trouble),
    };
    let mut files = vec![
        EvidenceFile { name: SPEC, text: spec.to_owned() },
        EvidenceFile { name: COLLECTED, text: text(serde_json::to_string(&given)) },
        EvidenceFile { name: FACTS, text: text(serde_json::to_string(facts)) },
    ];
    let elapsed =
        elapsed_ms.map(|elapsed| EvidenceFile { name: ELAPSED, text: elapsed.to_string() });
    files.extend(elapsed);
    let precedents = precedents.map(|precedents| EvidenceFile {
        name: PRECEDENT,
        text: text(serde_json::to_string(precedents)),
    });
    files.extend(precedents);
    let readable = match collected {
        Ok(Samples::Generations(samples)) => {
            Some(("cases.jsonl", lines(samples.iter().map(generation))))
        }
        Ok(Samples::Texts(corpora)) => Some(("texts.jsonl", lines(corpora.iter().flat_map(texts)))),
        // What processes answered is readable as it is kept.
        Ok(
            Samples::Logits(_) | Samples::Consistency(_) | Samples::Inside(_) | Samples::Alone(_),
        )
        | Err(_) => None,
    };
    files.extend(readable.map(|(name, text)| EvidenceFile { name, text }));
    files
}

/// The evidence of a record, read back.
#[derive(Debug)]
pub struct Kept {
    /// The gate's spec as it was.
    pub spec: String,
    /// What the judge was given.
    pub collected: Result<Samples, Trouble>,
    /// What the rules are asked of.
    pub facts: Facts,
    /// The run's wall time, where its spec declared a budget.
    pub elapsed_ms: Option<u64>,
    /// What was on record about the oracle's own noise.
    pub precedents: Option<Precedents>,
}

/// Evidence that cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The record is older than the file.
    #[error("{record} keeps no {name}: it was written before verdicts could be derived again")]
    Missing {
        /// Id of the record.
        record: String,
        /// The file.
        name: &'static str,
    },
    /// The file is not there or not what was written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its text is not what this program writes.
    #[error("cannot read {name} of {record}")]
    Unreadable {
        /// Id of the record.
        record: String,
        /// The file.
        name: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Kept {
    /// Reads the evidence of `record`, each file verified by its hash.
    pub fn read(store: &Store, record: &Record) -> Result<Self, EvidenceError> {
        for entry in &record.evidence {
            store.evidence(entry)?;
        }
        let collected: Collected = parse(store, record, COLLECTED)?;
        Ok(Self {
            spec: text(store, record, SPEC)?,
            collected: match collected {
                Collected::Samples(samples) => Ok(samples),
                Collected::Trouble(trouble) => Err(trouble),
            },
            facts: match parse_if_there(store, record, FACTS)? {
                Some(facts) => facts,
                None => Facts { found: parse(store, record, VIOLATIONS)?, ..Facts::default() },
            },
            elapsed_ms: parse_if_there(store, record, ELAPSED)?,
            precedents: parse_if_there(store, record, PRECEDENT)?,
        })
    }
}

fn parse_if_there<T: for<'a> Deserialize<'a>>(
    store: &Store,
    record: &Record,
    name: &'static str,
) -> Result<Option<T>, EvidenceError> {
    let is_there = record.evidence.iter().any(|entry| entry.name == name);
    if is_there { parse(store, record, name).map(Some) } else { Ok(None) }
}

fn parse<T: for<'a> Deserialize<'a>>(
    store: &Store,
    record: &Record,
    name: &'static str,
) -> Result<T, EvidenceError> {
    let text = text(store, record, name)?;
    serde_json::from_str(&text).map_err(|error| unreadable(record, name, error))
}

fn text(store: &Store, record: &Record, name: &'static str) -> Result<String, EvidenceError> {
    let entry = record.evidence.iter().find(|entry| entry.name == name);
    let missing = || EvidenceError::Missing { record: record.id.clone(), name };
    let content = store.content(entry.ok_or_else(missing)?)?;
    String::from_utf8(content).map_err(|error| unreadable(record, name, error))
}

fn unreadable(
    record: &Record,
    name: &'static str,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> EvidenceError {
    EvidenceError::Unreadable { record: record.id.clone(), name, source: error.into() }
}

/// Every ranking of both sides, for `--keep`.
pub fn whole(collected: &[GenerationSample]) -> String {
    let case = |sample: &GenerationSample| {
        let ranking =
            |answer: &Result<crate::subject::Generated, crate::subject::Defect>| match answer {
                Ok(generated) => json!(generated.steps),
                Err(defect) => json!({ "defect": defect.to_string() }),
            };
        json!({
            "id": sample.reference.id,
            "oracle": sample.reference.steps,
            "subject": ranking(&sample.subject),
            "forced": sample.forced.as_ref().map(ranking),
        })
    };
    lines(collected.iter().map(case))
}

fn lines(values: impl Iterator<Item = Value>) -> String {
    values.fold(String::new(), |text, value| text + &value.to_string() + "\n")
}

fn generation(sample: &GenerationSample) -> Value {
    let ours = match &sample.subject {
        Ok(generated) => json!({ "prompt_ids": generated.prompt_ids, "ids": generated.ids }),
        Err(defect) => json!({ "defect": defect.to_string() }),
    };
    json!({
        "id": sample.reference.id,
        "oracle": { "prompt_ids": sample.reference.prompt_ids, "ids": sample.reference.ids },
        "subject": ours,
    })
}

fn texts(corpus: &TextCorpus) -> Vec<Value> {
    let text = |sample: &crate::samples::TextSample| {
        let ours = match &sample.encoded {
            Ok(tokenized) => json!(tokenized.ids),
            Err(defect) => json!({ "defect": defect.to_string() }),
        };
        json!({ "id": sample.id, "oracle": sample.expected, "subject": ours })
    };
    corpus.texts.iter().map(text).collect()
}
