//! From samples to a verdict: a pure function, which knows no process, no file and no clock.

mod alone;
mod consistency;
mod generations;
mod inside;
mod logits;
mod next;
mod texts;

pub use next::{Asked, next};

use records::metric::Measurement;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::Facts;
use crate::kind::alone::Failure;
use crate::kind::budget;
use crate::kind::oracle_consistency::Precedents;
use crate::rule::{Rule, Word};
use crate::samples::Samples;
use crate::spec::Spec;
use crate::validity::{self, Violation};

/// Failures that a report shows; the record keeps all of them.
const SHOWN: usize = 8;

/// Why there are no samples to judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trouble {
    /// A rule was broken before anything could be compared.
    Void(Violation),
    /// An input or an oracle is missing.
    Skip(String),
    /// The oracle did not answer all that was asked.
    NotEstablished(String),
    /// The subject did not answer.
    Subject {
        /// How many cases it owes an answer.
        asked: u64,
        /// What happened.
        reason: String,
    },
}

/// What a run came to.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The word.
    pub word: Word,
    /// Every rule that was broken.
    pub rules: Vec<Rule>,
    /// Why, in one sentence.
    pub reason: String,
    /// Cases that were compared.
    pub compared: u64,
    /// The numbers.
    pub measurements: Vec<Measurement>,
    /// Each first divergence or failed text.
    pub divergences: Vec<Value>,
    /// Lines for a person.
    pub report: Vec<String>,
}

impl Judgement {
    fn bare(word: Word, rules: Vec<Rule>, reason: String, compared: u64) -> Self {
        Self {
            word,
            rules,
            reason,
            compared,
            measurements: Vec::new(),
            divergences: Vec::new(),
            report: Vec::new(),
        }
    }

    /// A run whose answers took longer than its spec declares fails, whatever they are; one that compared nothing, or is
    /// void, stays what it is.
    #[must_use]
    pub fn timed(mut self, spec: &Spec, elapsed_ms: u64) -> Self {
        let late = spec.check.budget.as_ref();
        let late = late.and_then(|check| budget::judge(check, elapsed_ms));
        if let Some(late) = late.filter(|_| self.word != Word::Void && self.compared > 0) {
            self.word = Word::Fail;
            self.reason = format!("{late}; {}", self.reason);
        }
        self
    }

    /// The numbers and lines of what a kind found: its summary, a table of its own, and the first failures.
    fn with_findings(
        mut self,
        kind: &str,
        summary: &str,
        measurements: Vec<Measurement>,
        table: Vec<String>,
        failures: &[Failure],
    ) -> Self {
        self.measurements = measurements;
        let value = |failure: &Failure| json!({ "case": failure.case, "what": failure.what });
        self.divergences = failures.iter().map(value).collect();
        self.report = vec![format!("{kind:<12} {summary}")];
        self.report.extend(table);
        self.report.extend(failures.iter().take(SHOWN).map(|failure| format!("  {failure}")));
        if failures.len() > SHOWN {
            let more = format!("  and {} more, all in the record", failures.len() - SHOWN);
            self.report.push(more);
        }
        self
    }

    /// A broken rule outranks what was compared: no number, rather than a bad one.
    fn voided(mut self, violations: &[Violation]) -> Self {
        if violations.is_empty() {
            return self;
        }
        let mut rules: Vec<Rule> = violations.iter().map(|violation| violation.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        self.word = Word::Void;
        self.rules = rules;
        self.reason = sentences(violations);
        self.measurements.clear();
        self.divergences.clear();
        self.report.clear();
        self
    }
}

fn sentences(violations: &[Violation]) -> String {
    let sentences: Vec<String> = violations
        .iter()
        .map(|violation| format!("{}: {}", violation.rule, violation.reason))
        .collect();
    sentences.join("; ")
}

/// Judges what was collected under a spec. The rules are asked of `facts` and of the samples; `precedents` is what is on record
/// about the oracle's own noise.
pub fn judge(
    spec: &Spec,
    collected: &Result<Samples, Trouble>,
    facts: &Facts,
    precedents: Option<&Precedents>,
) -> Judgement {
    let judgement = match collected {
        Ok(Samples::Generations(samples)) => {
            let judgement = generations::judge(samples, spec.check.near_tie.as_ref());
            consistency::beside(judgement, spec, precedents)
        }
        Ok(Samples::Texts(corpora)) => texts::judge(corpora),
        Ok(Samples::Logits(chunks)) => logits::judge(spec.check.logits.as_ref(), chunks),
        Ok(Samples::Consistency(sample)) => {
            consistency::judge(spec.check.oracle_consistency.as_ref(), sample)
        }
        Ok(Samples::Inside(samples)) => inside::judge(spec, samples),
        Ok(Samples::Alone(samples)) => alone::judge(spec, samples),
        Err(trouble) => judge_trouble(trouble),
    };
    judgement.voided(&validity::all(spec, facts, collected))
}

fn judge_trouble(trouble: &Trouble) -> Judgement {
    match trouble {
        Trouble::Void(violation) => Judgement::bare(
            Word::Void,
            vec![violation.rule],
            format!("{}: {}", violation.rule, violation.reason),
            0,
        ),
        Trouble::Skip(reason) => {
            Judgement::bare(Word::Skipped, vec![Rule::Skip], reason.clone(), 0)
        }
        Trouble::NotEstablished(reason) => {
            Judgement::bare(Word::NotEstablished, Vec::new(), reason.clone(), 0)
        }
        Trouble::Subject { asked, reason } => Judgement::bare(
            Word::Fail,
            vec![Rule::Failed],
            format!("the engine gave no answer: {reason}"),
            *asked,
        ),
    }
}
