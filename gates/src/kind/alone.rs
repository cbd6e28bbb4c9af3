//! The kinds that judge the engine alone: what they have in common.
//!
//! A gate has one of them, and no oracle. What was collected for it is what processes of the engine answered, unread; reading is
//! part of judging, so that a recheck reads it again.

use std::collections::BTreeMap;
use std::fmt;

use records::metric::Measurement;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::flags::{self, FlagsSample};
use super::identity::{self, IdentitySample};
use super::memory::{self, MemorySample};
use super::regression::{self, RegressionSample};
use super::size_dependence::{self, SizeSample};
use super::startup::{self, StartupSample};
use super::weights::{self, WeightsSample};
use super::{async_identity, byte_identity};
use crate::spec::{
    AsyncIdentityCheck, ByteIdentityCheck, InertFlagsCheck, MemoryCheck, RegressionCheck,
    SizeDependenceCheck, StartupCheck, WeightsCheck,
};
use crate::subject::{Question, RawAnswer};

/// The kind that a gate declares, with its table.
#[derive(Debug, Clone, Copy)]
pub enum Alone<'a> {
    /// The same bytes again and under other thread counts.
    ByteIdentity(&'a ByteIdentityCheck),
    /// Together as alone.
    AsyncIdentity(&'a AsyncIdentityCheck),
    /// What changes nothing, and what is refused.
    InertFlags(&'a InertFlagsCheck),
    /// Tensors and bytes.
    Weights(&'a WeightsCheck),
    /// Resident set.
    Memory(&'a MemoryCheck),
    /// Time to the first answer.
    Startup(&'a StartupCheck),
    /// Inputs that once failed.
    Regression(&'a RegressionCheck),
    /// Several lengths.
    SizeDependence(&'a SizeDependenceCheck),
}

/// What was collected for one of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AloneSamples {
    /// Of byte-identity and async-identity.
    Identity(IdentitySample),
    /// Of inert-flags.
    Flags(FlagsSample),
    /// Of weights.
    Weights(WeightsSample),
    /// Of memory.
    Memory(MemorySample),
    /// Of startup.
    Startup(StartupSample),
    /// Of regression.
    Regression(RegressionSample),
    /// Of size-dependence.
    Size(SizeSample),
}

/// One process of the engine: what it was asked and what it answered, unread.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// What it was asked.
    pub question: Question,
    /// What came back.
    pub answer: RawAnswer,
}

/// One thing that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The case, arm, flag or tensor.
    pub case: String,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.case, self.what)
    }
}

impl Failure {
    pub(super) fn new(case: impl Into<String>, what: impl Into<String>) -> Self {
        Self { case: case.into(), what: what.into() }
    }
}

/// What a kind found.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// Things that were judged.
    pub compared: u64,
    /// Those that are not as they must be.
    pub failures: Vec<Failure>,
    /// What could not be seen, so that nothing is established.
    pub unseen: Option<String>,
    /// What was judged, in a sentence that holds whether it failed or not.
    pub summary: String,
    /// The numbers.
    pub measurements: Vec<Measurement>,
}

impl Findings {
    /// Findings without numbers.
    pub(super) fn of(compared: usize, failures: Vec<Failure>, summary: String) -> Self {
        let compared = compared as u64;
        Self { compared, failures, unseen: None, summary, measurements: Vec::new() }
    }
}

impl Alone<'_> {
    /// The kind's name in specs and records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ByteIdentity(_) => byte_identity::NAME,
            Self::AsyncIdentity(_) => async_identity::NAME,
            Self::InertFlags(_) => flags::NAME,
            Self::Weights(_) => weights::NAME,
            Self::Memory(_) => memory::NAME,
            Self::Startup(_) => startup::NAME,
            Self::Regression(_) => regression::NAME,
            Self::SizeDependence(_) => size_dependence::NAME,
        }
    }

    /// What it judges, in words.
    pub fn explain(&self) -> String {
        match self {
            Self::ByteIdentity(check) => byte_identity::explain(check),
            Self::AsyncIdentity(check) => async_identity::explain(check),
            Self::InertFlags(check) => flags::explain(check),
            Self::Weights(check) => weights::explain(check),
            Self::Memory(check) => memory::explain(check),
            Self::Startup(check) => startup::explain(check),
            Self::Regression(_) => regression::EXPLANATION.to_owned(),
            Self::SizeDependence(check) => size_dependence::explain(check),
        }
    }

    /// Whether it asks the spec's inputs.
    pub fn reads_inputs(&self) -> bool {
        !matches!(self, Self::Weights(_))
    }

    /// Whether it generates as the spec's `[generate]` says.
    pub fn generates(&self) -> bool {
        !matches!(self, Self::Weights(_) | Self::Regression(_))
    }

    /// Judges what was collected; `None` where it was collected for another kind.
    pub fn judge(&self, samples: &AloneSamples) -> Option<Findings> {
        match (self, samples) {
            (Self::ByteIdentity(_) | Self::AsyncIdentity(_), AloneSamples::Identity(sample)) => {
                Some(identity::judge(sample))
            }
            (Self::InertFlags(check), AloneSamples::Flags(sample)) => {
                Some(flags::judge(check, sample))
            }
            (Self::Weights(check), AloneSamples::Weights(sample)) => {
                Some(weights::judge(check, sample))
            }
            (Self::Memory(check), AloneSamples::Memory(sample)) => {
                Some(memory::judge(check, sample))
            }
            (Self::Startup(check), AloneSamples::Startup(sample)) => {
                Some(startup::judge(check, sample))
            }
            (Self::Regression(_), AloneSamples::Regression(sample)) => {
                Some(regression::judge(sample))
            }
            (Self::SizeDependence(check), AloneSamples::Size(sample)) => {
                Some(size_dependence::judge(check, sample))
            }
            _ => None,
        }
    }
}

/// The ids of the requests of a question, in their order.
pub(super) fn request_ids(exchange: &Exchange) -> Vec<String> {
    exchange.question.lines.iter().filter_map(|line| id_of(line)).collect()
}

/// The answer lines by the id that they carry; lines without one under none.
pub(super) fn lines_by_id(exchange: &Exchange) -> BTreeMap<Option<String>, Vec<&str>> {
    let mut lines: BTreeMap<Option<String>, Vec<&str>> = BTreeMap::new();
    for line in exchange.answer.stdout.lines().filter(|line| !line.trim().is_empty()) {
        lines.entry(id_of(line)).or_default().push(line);
    }
    lines
}

fn id_of(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    value.get("id")?.as_str().map(str::to_owned)
}

/// Every request that was not answered as the verb answers, with the words for it.
pub(super) fn broken(exchange: &Exchange) -> Vec<Failure> {
    let ids = request_ids(exchange);
    match crate::subject::read_generations(&exchange.question, &exchange.answer) {
        Ok(answers) => ids
            .iter()
            .filter_map(|id| match answers.get(id) {
                Some(Ok(_)) => None,
                Some(Err(defect)) => Some(Failure::new(id, defect.to_string())),
                None => Some(Failure::new(id, "was not answered")),
            })
            .collect(),
        Err(error) => {
            let what = crate::chain::of(&error);
            ids.iter().map(|id| Failure::new(id, &*what)).collect()
        }
    }
}

/// Requests that are all answered with one token, for tests.
#[cfg(test)]
pub(super) fn exchange(ids: &[&str]) -> Exchange {
    let line = |id: &&str| format!("{{\"id\":{id:?},\"max_tokens\":1}}");
    let answer = |id: &&str| {
        format!(
            "{{\"id\":{id:?},\"prompt_ids\":[1],\"ids\":[2],\"text\":\"\",\"finish_reason\":\"length\",\
             \"steps\":[{{\"id\":2,\"logprob\":-0.5,\"top\":[[2,-0.5]]}}]}}\n"
        )
    };
    Exchange {
        question: Question {
            verb: crate::subject::Verb::Generate,
            arguments: Vec::new(),
            lines: ids.iter().map(line).collect(),
            repeat: 0,
            watched: true,
        },
        answer: RawAnswer {
            stdout: ids.iter().map(answer).collect(),
            exit: Some(0),
            stderr_tail: String::new(),
            watch: crate::subject::Watch::default(),
            file: Vec::new(),
        },
    }
}
