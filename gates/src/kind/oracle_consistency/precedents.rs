//! Which records of an oracle against itself speak for a comparison with it: the rule, as one pure function.
//!
//! A record *speaks of* a comparison where it judged the same oracle (name, pin, definition), launched and read back the same
//! (which tells the device too), on the same checkpoint, was run with the oracle that its spec names, and keeps evidence that
//! gives its verdict again.
//!
//! - *Contradiction*: a FAIL that speaks of the comparison stands, whatever spec it ran under, until a later PASS under a committed
//!   spec has looked at all that it looked at ([`Coverage::includes`]). The newest that stands is told.
//! - *Measure*: the newest PASS or FAIL that speaks of the comparison under a committed spec (same bytes, same inputs) and has
//!   asked at least as many cases, for answers as long, as the comparison. Its figures are the oracle's own rate.
//!
//! A condition that the oracle does not have was not looked at: it is told with the figures, clears no FAIL that was seen under
//! it, and is no agreement.

use std::cmp::Reverse;

use oracles::verbs::Identity;
use records::record::{Record, VerdictWord as Word};
use serde::{Deserialize, Serialize};

use super::{ConsistencySample, Coverage, NAME, Precedent};
use crate::spec::{LaunchSpec, Spec};

/// What a process tells of itself that follows from the memory, the caches and the cores that it found, and decides no answer.
const FOUND: [&str; 3] = ["kv_cache_tokens", "compile_cache", "cores"];

/// What is on record about an oracle's own noise, for those who are compared with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Kept")]
pub struct Precedents {
    /// The newest record that shows it contradicting itself and was not cleared.
    pub contradiction: Option<Precedent>,
    /// The newest record under a committed spec that has looked far enough.
    pub measure: Option<Precedent>,
    /// Records of this oracle on this checkpoint that do not count, the newest first.
    pub passed_over: Vec<PassedOver>,
    /// The committed gates that would measure it.
    pub gates: Vec<String>,
}

/// A record that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassedOver {
    /// Its id.
    pub record: String,
    /// Why, as the end of "it does not count: ".
    pub why: String,
}

/// As evidence keeps it: whole, or in records older than [`Precedents`] the one record that counted.
#[derive(Deserialize)]
#[serde(untagged)]
enum Kept {
    Whole(Box<Whole>),
    One(Precedent),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    contradiction: Option<Precedent>,
    measure: Option<Precedent>,
    passed_over: Vec<PassedOver>,
    gates: Vec<String>,
}

impl From<Kept> for Precedents {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Whole(whole) => {
                let Whole { contradiction, measure, passed_over, gates } = *whole;
                Self { contradiction, measure, passed_over, gates }
            }
            Kept::One(precedent) => Self {
                contradiction: Some(precedent.clone()).filter(|one| one.word == Word::Fail),
                measure: Some(precedent),
                ..Self::default()
            },
        }
    }
}

/// A comparison with an oracle, as far as the oracle's own noise depends on it.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Name of the oracle.
    pub oracle: String,
    /// SHA-256 of the source that it is pinned to.
    pub source_sha256: String,
    /// SHA-256 of its definition; `None` where it cannot be read.
    pub definition_sha256: Option<String>,
    /// Who answered, as the process or its golden says.
    pub identity: Identity,
    /// Name of the checkpoint, by which specs ask for it.
    pub checkpoint: String,
    /// SHA-256 of the checkpoint.
    pub checkpoint_sha256: String,
    /// How the oracle is launched.
    pub launch: LaunchSpec,
    /// Cases compared.
    pub cases: u64,
    /// Tokens that each answer may have.
    pub tokens: u32,
}

/// A gate of this tree about an oracle against itself.
#[derive(Debug, Clone)]
pub struct Committed {
    /// Its name.
    pub name: String,
    /// SHA-256 of its spec.
    pub spec_sha256: String,
    /// SHA-256 of its inputs; `None` where they cannot be read.
    pub inputs_sha256: Option<String>,
    /// Its spec.
    pub spec: Spec,
}

/// A record of an oracle against itself, and what it keeps.
#[derive(Debug, Clone)]
pub struct Testimony {
    /// The record.
    pub record: Record,
    /// What its evidence holds, where the verdict follows from it; else why it does not.
    pub evidence: Result<Account, String>,
}

/// What the evidence of a record of an oracle against itself holds.
#[derive(Debug, Clone)]
pub struct Account {
    /// What the answers come to, however long they took.
    pub word: Word,
    /// The spec of then.
    pub spec: Spec,
    /// What the oracle answered.
    pub sample: ConsistencySample,
}

impl Precedents {
    /// Applies the rule (see the module) to `records`, which may come in any order.
    pub fn find(comparison: &Comparison, committed: &[Committed], records: &[Testimony]) -> Self {
        let mut records: Vec<&Testimony> =
            records.iter().filter(|testimony| comparison.is_named_by(&testimony.record)).collect();
        let when =
            |testimony: &Testimony| (testimony.record.started_at, testimony.record.id.clone());
        records.sort_by_key(|testimony| Reverse(when(testimony)));
        let mut found = Self { gates: comparison.measured_by(committed), ..Self::default() };
        let mut later_passes: Vec<Coverage> = Vec::new();
        for testimony in records {
            let record = &testimony.record;
            let said = match comparison.said_by(testimony) {
                Ok(said) => said,
                Err(why) => {
                    found.pass_over(record, why);
                    continue;
                }
            };
            let bound = is_committed(record, committed);
            let failed = said.precedent.word == Word::Fail;
            let is_cleared = || later_passes.iter().any(|pass| pass.includes(&said.coverage));
            if failed && found.contradiction.is_none() && !is_cleared() {
                found.contradiction = Some(said.precedent.clone());
            }
            if bound.is_ok() && !failed {
                later_passes.push(said.coverage.clone());
            }
            match bound.and_then(|()| comparison.is_covered(&said)) {
                Ok(()) => found.measure = found.measure.or(Some(said.precedent)),
                Err(why) => found.pass_over(record, why),
            }
        }
        found
    }

    fn pass_over(&mut self, record: &Record, why: String) {
        self.passed_over.push(PassedOver { record: record.id.clone(), why });
    }

    /// What proofs are judged beside: an oracle that always agrees with itself.
    pub fn of_a_silent_oracle(oracle: &str, cases: u64) -> Self {
        let measure = Some(Precedent::of_a_silent_oracle(oracle, cases));
        Self { measure, ..Self::default() }
    }
}

/// What a record that speaks of a comparison says.
struct Said {
    precedent: Precedent,
    coverage: Coverage,
}

impl Comparison {
    /// Whether a record is about this oracle on this checkpoint by what it names, whatever else is wrong with it.
    pub fn is_named_by(&self, record: &Record) -> bool {
        let oracle = record.oracle.as_ref().map(|oracle| oracle.name.as_str());
        let on = record.checkpoint.as_ref().map(|checkpoint| checkpoint.sha256.as_str());
        record.kinds.iter().any(|kind| kind == NAME)
            && oracle == Some(self.oracle.as_str())
            && on == Some(self.checkpoint_sha256.as_str())
    }

    /// The committed gates whose runs would speak of this comparison.
    fn measured_by(&self, committed: &[Committed]) -> Vec<String> {
        let measures = |spec: &Spec| {
            spec.check.oracle_consistency.is_some()
                && spec.oracle.as_ref() == Some(&self.oracle)
                && spec.checkpoint.as_ref() == Some(&self.checkpoint)
                && self.is_launched_by(spec)
        };
        let gates = committed.iter().filter(|gate| measures(&gate.spec));
        gates.map(|gate| gate.name.clone()).collect()
    }

    /// Whether the process is started the same; `production` is what is asked of it, not how.
    fn is_launched_by(&self, spec: &Spec) -> bool {
        let bits = |launch: &LaunchSpec| (launch.threads, launch.context, launch.dtype);
        bits(&self.launch) == bits(&spec.launch)
    }

    /// What a record that names the oracle says, or why it does not speak of this comparison.
    fn said_by(&self, testimony: &Testimony) -> Result<Said, String> {
        let record = &testimony.record;
        self.is_same_oracle(record)?;
        let Account { word, spec, sample } = testimony.evidence.as_ref().map_err(Clone::clone)?;
        if !matches!(word, Word::Pass | Word::Fail) {
            return Err(format!("it says {}", word.as_str()));
        }
        if spec.oracle.as_ref() != Some(&self.oracle) {
            return Err("its oracle was named by hand, not by the spec".to_owned());
        }
        if !self.is_launched_by(spec) {
            return Err("the oracle was launched with other threads, context or type".to_owned());
        }
        let coverage = Coverage::of(spec, record.inputs_sha256.as_deref(), sample);
        let absent = spec.check.oracle_consistency.iter().flat_map(|check| &check.absent);
        let absent = absent.map(|absent| (absent.condition, absent.because.0.clone())).collect();
        let said = coverage.and_then(|coverage| {
            let seen = coverage.seen.iter().copied().collect();
            let precedent = Precedent::of(record, *word, seen, absent)?;
            Some(Said { precedent, coverage })
        });
        said.ok_or_else(|| "it lacks one of the counts".to_owned())
    }

    /// The same pin and definition, and a process that said the same of itself.
    fn is_same_oracle(&self, record: &Record) -> Result<(), String> {
        let oracle = record.oracle.as_ref();
        let identity = oracle.map(|oracle| Identity::deserialize(&oracle.identity));
        let Some(Ok(identity)) = identity else {
            return Err("it does not say who answered".to_owned());
        };
        if identity.source_sha256 != self.source_sha256 {
            return Err("the oracle was built from another source".to_owned());
        }
        let definition = oracle.and_then(|oracle| oracle.definition_sha256.as_ref());
        if definition.is_none() || definition != self.definition_sha256.as_ref() {
            return Err("the oracle was defined otherwise".to_owned());
        }
        match other_words(&identity, &self.identity) {
            Some(what) => Err(format!("the oracle said otherwise of its {what}")),
            None => Ok(()),
        }
    }

    fn is_covered(&self, said: &Said) -> Result<(), String> {
        let (cases, tokens) = (said.precedent.cases, said.coverage.tokens);
        if cases < self.cases {
            return Err(format!("it asked {cases} prompts where {} are compared", self.cases));
        }
        if tokens < self.tokens {
            return Err(format!(
                "its answers have {tokens} tokens, those compared {}",
                self.tokens
            ));
        }
        Ok(())
    }
}

/// Whether the record ran under a spec of this tree, on its inputs.
fn is_committed(record: &Record, committed: &[Committed]) -> Result<(), String> {
    let gate = committed.iter().find(|gate| gate.name == record.gate);
    match gate {
        None => Err("there is no such gate any more".to_owned()),
        Some(gate) if gate.spec_sha256 != record.spec_sha256 => {
            Err("it ran under another spec".to_owned())
        }
        Some(gate)
            if gate.inputs_sha256.is_none() || gate.inputs_sha256 != record.inputs_sha256 =>
        {
            Err("it ran on other inputs".to_owned())
        }
        Some(_) => Ok(()),
    }
}

/// The first thing that two processes say differently of themselves and that may decide answers.
fn other_words(one: &Identity, other: &Identity) -> Option<String> {
    if one.cpu_features != other.cpu_features {
        return Some("CPU features".to_owned());
    }
    let keys = one.settings.keys().chain(other.settings.keys());
    let mut decisive = keys.filter(|key| !FOUND.contains(&key.as_str()));
    decisive.find(|key| one.settings.get(*key) != other.settings.get(*key)).cloned()
}

#[cfg(test)]
mod tests;
