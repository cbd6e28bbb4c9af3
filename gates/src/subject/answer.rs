//! Reading the subject's answers: every way in which an answer is none has its own words.

use std::collections::BTreeMap;
use std::fmt;

use oracles::verbs::FinishReason;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{Answers, RawAnswer, SubjectError, Tokenized, Verb};
use crate::compare;

/// Exit status of `plumb` when it answered, and at least one line of the input was bad.
const EXIT_BAD_INPUT: i32 = 2;

/// Why an answer counts as none. A defect is a failure of the subject, never a smaller comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Defect {
    /// No line carries the case's id.
    Missing,
    /// Several lines carry it.
    Duplicate(usize),
    /// The line is an error object.
    Refused {
        /// Its code.
        code: String,
        /// Its message.
        message: String,
    },
    /// The line is not what the verb answers.
    Unreadable(String),
    /// Another number of tokens than was asked for.
    Length {
        /// `max_tokens`.
        expected: usize,
        /// Ids in the answer.
        found: usize,
    },
    /// The steps do not match the ids.
    Steps {
        /// Ids in the answer.
        expected: usize,
        /// Steps in the answer.
        found: usize,
    },
    /// A log-probability is NaN, infinite or not there.
    NotANumber {
        /// Index of the generated token.
        step: usize,
    },
    /// The chosen id and the id its step reports differ.
    StepId {
        /// Index of the generated token.
        step: usize,
    },
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "was not answered"),
            Self::Duplicate(times) => write!(f, "was answered {times} times"),
            Self::Refused { code, message } => write!(f, "was refused ({code}): {message}"),
            Self::Unreadable(reason) => write!(f, "has an unreadable answer: {reason}"),
            Self::Length { expected, found } => {
                write!(f, "has {found} tokens where {expected} were asked for")
            }
            Self::Steps { expected, found } => {
                write!(f, "reports {found} steps for {expected} tokens")
            }
            Self::NotANumber { step } => {
                write!(f, "has a log-probability at token {step} that is not a finite number")
            }
            Self::StepId { step } => write!(f, "reports another id in step {step} than in `ids`"),
        }
    }
}

/// A token and its natural-log probability.
pub type TopEntry = (u32, f64);

/// One generation, checked for shape and finiteness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generated {
    /// The prompt as the subject tokenised it.
    pub prompt_ids: Vec<u32>,
    /// Generated ids: `max_tokens` of them, or fewer when the last one ends the generation.
    pub ids: Vec<u32>,
    /// Their text.
    pub text: String,
    /// The most probable tokens at each step, best first.
    pub steps: Vec<Vec<TopEntry>>,
}

/// `plumb info --json`: what the record keeps, with the fields that a gate reads.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Info {
    /// Version of the binary.
    pub version: String,
    /// Commit it was built from, when it knows.
    pub commit: Option<String>,
    /// Digest of the sources embedded at build time.
    pub source_sha256: String,
    /// Numerics profile in effect; `None` where no model asks for one.
    pub profile: Option<String>,
    /// Threads in effect.
    pub threads: u32,
    /// The whole object.
    pub value: Value,
}

/// A tensor in a checkpoint file.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredTensor {
    /// Its name.
    pub name: String,
    /// Block format, such as `Q4_1`.
    pub format: String,
    /// Sizes, the fastest varying first.
    pub shape: Vec<u64>,
    /// Absolute offset of its data, in bytes.
    pub offset: u64,
    /// Size of its data, in bytes.
    pub bytes: u64,
}

/// A metadata value in a checkpoint file.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredValue {
    /// Its key.
    pub key: String,
    /// Type as GGUF names it.
    #[serde(rename = "type")]
    pub kind: String,
    /// The value, arrays summarised.
    pub value: Value,
    /// Absolute offset of the value, in bytes.
    pub offset: u64,
    /// Its size, in bytes.
    pub bytes: u64,
}

/// `plumb inspect FILE --json`, as far as faults need it.
#[derive(Debug, Clone, Deserialize)]
pub struct Inspection {
    /// Metadata with a place in the file, in its order.
    #[serde(default, deserialize_with = "placed")]
    pub metadata: Vec<StoredValue>,
    /// Tensors, in file order.
    pub tensors: Vec<StoredTensor>,
}

/// Metadata that lies somewhere: of safetensors, where it is text inside the header, none does.
fn placed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<StoredValue>, D::Error> {
    let values: Vec<Value> = Vec::deserialize(deserializer)?;
    let placed = values.into_iter().filter(|value| value.get("offset").is_some_and(Value::is_u64));
    placed.map(|value| serde_json::from_value(value).map_err(D::Error::custom)).collect()
}

/// The error that a failed process stands for.
pub(super) fn ended(verb: Verb, raw: &RawAnswer) -> SubjectError {
    let status = raw.exit.map_or("a signal".to_owned(), |code| format!("exit status {code}"));
    let stderr = if raw.stderr_tail.trim().is_empty() {
        "it said nothing on standard error".to_owned()
    } else {
        raw.stderr_tail.trim().to_owned()
    };
    SubjectError::Ended { verb: verb.as_str(), status, stderr }
}

fn unreadable(verb: Verb, reason: impl Into<String>) -> SubjectError {
    SubjectError::Unreadable { verb: verb.as_str(), reason: reason.into() }
}

pub(super) fn parse_info(stdout: &str) -> Result<Info, SubjectError> {
    let value: Value =
        serde_json::from_str(stdout).map_err(|error| unreadable(Verb::Info, error.to_string()))?;
    let text = |key: &str| {
        value.get(key).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| {
            unreadable(
                Verb::Info,
                format!("key `{key}` must be a string, found {:?}", value.get(key)),
            )
        })
    };
    let threads = value
        .get("threads")
        .and_then(Value::as_u64)
        .ok_or_else(|| unreadable(Verb::Info, "key `threads` must be a whole number"))?;
    Ok(Info {
        version: text("version")?,
        commit: value.get("commit").and_then(Value::as_str).map(str::to_owned),
        source_sha256: text("source_sha256")?,
        profile: value.get("profile").and_then(Value::as_str).map(str::to_owned),
        threads: threads as u32,
        value,
    })
}

pub(super) fn parse_inspection(stdout: &str) -> Result<Inspection, SubjectError> {
    serde_json::from_str(stdout).map_err(|error| unreadable(Verb::Inspect, error.to_string()))
}

/// Pairs the lines of an answer with the cases asked for, each `(id, what its reader needs)`.
///
/// A process that ended badly answered nothing, except that status 2 with a line for every case, some of them errors, is
/// what those errors mean, and they say it themselves.
pub(super) fn read_lines<C: Copy, T>(
    verb: Verb,
    raw: &RawAnswer,
    expected: Vec<(&str, C)>,
    read: impl Fn(&Value, C) -> Result<T, Defect>,
) -> Result<Answers<T>, SubjectError> {
    let mut lines: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for text in raw.stdout.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            unreadable(verb, format!("a line is not JSON ({error}): {}", shortened(text)))
        })?;
        let id = value
            .get("id")
            .and_then(Value::as_str)
            .ok_or_else(|| unreadable(verb, format!("a line has no `id`: {}", shortened(text))))?;
        if !expected.iter().any(|(case, _)| *case == id) {
            return Err(unreadable(verb, format!("a line answers `{id}`, which was not asked")));
        }
        lines.entry(id.to_owned()).or_default().push(value);
    }
    let all_answered = expected.iter().all(|(id, _)| lines.contains_key(*id));
    let any_refused = lines.values().flatten().any(|line| line.get("error").is_some());
    match raw.exit {
        Some(0) => {}
        Some(EXIT_BAD_INPUT) if all_answered && any_refused => {}
        _ => return Err(ended(verb, raw)),
    }
    let answer = |id: &str, context: C| match lines.get(id).map(Vec::as_slice) {
        None | Some([]) => Err(Defect::Missing),
        Some([line]) => read_line(line, context, &read),
        Some(several) => Err(Defect::Duplicate(several.len())),
    };
    Ok(expected.into_iter().map(|(id, context)| (id.to_owned(), answer(id, context))).collect())
}

fn read_line<C, T>(
    line: &Value,
    context: C,
    read: impl Fn(&Value, C) -> Result<T, Defect>,
) -> Result<T, Defect> {
    let Some(error) = line.get("error") else { return read(line, context) };
    let text =
        |key: &str| error.get(key).and_then(Value::as_str).unwrap_or("none given").to_owned();
    Err(Defect::Refused { code: text("code"), message: text("message") })
}

#[derive(Deserialize)]
struct GeneratedLine {
    prompt_ids: Vec<u32>,
    ids: Vec<u32>,
    text: String,
    finish_reason: FinishReason,
    steps: Vec<StepLine>,
}

#[derive(Deserialize)]
struct StepLine {
    id: u32,
    logprob: Option<f64>,
    top: Vec<(u32, Option<f64>)>,
}

/// Whether an answer has all its tokens: as many as were asked for, or fewer that an end-of-generation token ends. Whether
/// it ended where the other side did is for the comparison to say.
pub fn is_whole(finish_reason: FinishReason, tokens: usize, asked: usize) -> bool {
    match finish_reason {
        FinishReason::Length => tokens == asked,
        FinishReason::Stop => (1..=asked).contains(&tokens),
    }
}

pub(super) fn read_generated(line: &Value, max_tokens: u32) -> Result<Generated, Defect> {
    let parsed =
        GeneratedLine::deserialize(line).map_err(|error| Defect::Unreadable(error.to_string()))?;
    let (asked, found) = (max_tokens as usize, parsed.ids.len());
    if !is_whole(parsed.finish_reason, found, asked) {
        return Err(Defect::Length { expected: asked, found });
    }
    if parsed.steps.len() != found {
        return Err(Defect::Steps { expected: found, found: parsed.steps.len() });
    }
    let mut steps = Vec::with_capacity(found);
    for (step, (line, id)) in parsed.steps.into_iter().zip(&parsed.ids).enumerate() {
        if line.id != *id {
            return Err(Defect::StepId { step });
        }
        let top: Option<Vec<TopEntry>> =
            line.top.iter().map(|(id, logprob)| logprob.map(|value| (*id, value))).collect();
        let finite = |top: &Vec<TopEntry>| {
            !top.is_empty() && compare::all_finite(top.iter().map(|entry| entry.1))
        };
        match (line.logprob, top.filter(finite)) {
            (Some(logprob), Some(top)) if compare::all_finite([logprob]) => steps.push(top),
            _ => return Err(Defect::NotANumber { step }),
        }
    }
    Ok(Generated { prompt_ids: parsed.prompt_ids, ids: parsed.ids, text: parsed.text, steps })
}

pub(super) fn read_tokenized(line: &Value, (): ()) -> Result<Tokenized, Defect> {
    #[derive(Deserialize)]
    struct Line {
        ids: Option<Vec<u32>>,
        text: Option<String>,
    }
    let line = Line::deserialize(line).map_err(|error| Defect::Unreadable(error.to_string()))?;
    Ok(Tokenized { ids: line.ids, text: line.text })
}

/// The beginning of a line, for a message.
fn shortened(line: &str) -> String {
    const SHOWN: usize = 80;
    if line.chars().count() <= SHOWN {
        return line.to_owned();
    }
    line.chars().take(SHOWN).chain("…".chars()).collect()
}
