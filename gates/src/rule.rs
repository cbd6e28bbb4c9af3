//! The verdict words' exit statuses, the rules that void a comparison, and the bounds: the only place where they are written.
//!
//! Each rule is one function with its id in [`crate::validity`]; here stand the ids and what each means.

use std::fmt;

use serde::{Deserialize, Serialize};

pub use records::record::VerdictWord as Word;

/// Widest near-tie band a spec may ask for, in milli-nats: two ulp of a bf16 logit in `[16, 32)` (2 x 0.125).
pub const BAND_CEILING_MNATS: f64 = 250.0;

/// Widest window of the oracle's ranking inside which a tie may be called: the oracle answers its top 20.
pub const TOP_CEILING: usize = 20;

/// Exit status for usage, spec and program errors: no word stands behind it.
pub const EXIT_ERROR: u8 = 2;

/// Exit status after Ctrl-C, as shells have it (128 + SIGINT).
pub const EXIT_INTERRUPTED: u8 = 130;

/// Every word, in the order of exit statuses.
pub const WORDS: [Word; 5] =
    [Word::Pass, Word::Fail, Word::NotEstablished, Word::Void, Word::Skipped];

/// The exit status of `gate` for a word.
pub fn exit_status(word: Word) -> u8 {
    match word {
        Word::Pass => 0,
        Word::Fail => 1,
        Word::NotEstablished => 3,
        Word::Void => 4,
        Word::Skipped => 5,
    }
}

/// What the exit status means, for `gate explain`.
pub fn meaning(word: Word) -> &'static str {
    match word {
        Word::Pass => "every case was compared and agrees within the bounds above",
        Word::Fail => "a case was compared and does not agree, or the engine did not answer it",
        Word::NotEstablished => {
            "the run does not suffice for a verdict; it says what more is needed"
        }
        Word::Void => "a validity rule was broken or a pin does not hold; it names every rule",
        Word::Skipped => "an oracle, golden or checkpoint is missing; nothing was compared",
    }
}

/// How grave a word is: the gravest of several gates decides the exit status of the command.
pub fn gravity(word: Word) -> u8 {
    match word {
        Word::Fail => 4,
        Word::Void => 3,
        Word::NotEstablished => 2,
        Word::Skipped => 1,
        Word::Pass => 0,
    }
}

/// A validity rule, by its id in the measurement discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "&str", try_from = "String")]
pub enum Rule {
    /// An oracle as in production does not say which backend computes.
    Backend,
    /// The near-tie band is wider than the spread it cites.
    Band,
    /// Prefixes of prompts were kept, or not, other than declared.
    CachePolicy,
    /// The checkpoint differs, by hash, from the one the reference was taken on.
    Checkpoint,
    /// Not as many requests were in work at once as were meant to be.
    Concurrency,
    /// The host was busy with something else.
    Contend,
    /// A reference answer has not exactly the tokens that were asked for, or no numbers beside them.
    Count,
    /// The engine's binary, or `gate` itself, was not built from this source tree.
    Dirty,
    /// An oracle as in production runs eager, or does not say that it does not.
    Eager,
    /// A request failed, was answered partially, or was not answered.
    Failed,
    /// The golden cannot be read, or is not what was captured for this gate.
    Golden,
    /// The oracle that answered is not the pinned one, or was not launched as it is pinned.
    Pin,
    /// The engine ran another numerics profile than the one that the gate judges.
    Profile,
    /// Nothing was compared.
    Skip,
    /// An oracle as in production runs a path that is not fused, or does not say which.
    Unfused,
    /// The two sides did not have the same work: other prompts, other lengths, other threads or context of the oracle.
    Workload,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 16] = [
        Self::Backend,
        Self::Band,
        Self::CachePolicy,
        Self::Checkpoint,
        Self::Concurrency,
        Self::Contend,
        Self::Count,
        Self::Dirty,
        Self::Eager,
        Self::Failed,
        Self::Golden,
        Self::Pin,
        Self::Profile,
        Self::Skip,
        Self::Unfused,
        Self::Workload,
    ];

    /// The id that records carry.
    pub fn id(self) -> &'static str {
        match self {
            Self::Backend => "V-BACKEND",
            Self::Band => "V-BAND",
            Self::CachePolicy => "V-CACHE-POLICY",
            Self::Checkpoint => "V-CKPT",
            Self::Concurrency => "V-CONC",
            Self::Contend => "V-CONTEND",
            Self::Count => "V-COUNT",
            Self::Dirty => "V-DIRTY",
            Self::Eager => "V-EAGER",
            Self::Failed => "V-FAILED",
            Self::Golden => "V-GOLDEN",
            Self::Pin => "V-PIN",
            Self::Profile => "V-PROFILE",
            Self::Skip => "V-SKIP",
            Self::Unfused => "V-UNFUSED",
            Self::Workload => "V-WORKLOAD",
        }
    }

    /// What breaks it, for `gate explain`.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Backend => {
                "the oracle was to run as in production and does not say which backend computes"
            }
            Self::CachePolicy => "no prompt came from the prefix cache where one was to be warm",
            Self::Band => "the near-tie band is wider than the spread of the oracle that it cites",
            Self::Checkpoint => {
                "the checkpoint is not, by hash, the one the reference was taken on"
            }
            Self::Concurrency => "fewer requests were in work at once than were meant to be",
            Self::Eager => "the oracle was to run as in production and runs eager, or does not say",
            Self::Unfused => {
                "the oracle was to run as in production and runs an unfused path, or does not say"
            }
            Self::Contend => "the host was busy with something else just before a timed start",
            Self::Count => {
                "a reference answer is short, empty, or has a log-probability that is no number"
            }
            Self::Dirty => "the engine, or this program, was not built from this source tree",
            Self::Failed => "a request failed, was answered partially, or was not answered",
            Self::Golden => {
                "the golden cannot be read, is not as it was captured, or belongs to another gate"
            }
            Self::Pin => {
                "the oracle that answered is not the pinned one, or was not launched as it is pinned"
            }
            Self::Profile => "the engine ran another numerics profile than the gate judges",
            Self::Skip => "nothing was compared",
            Self::Workload => {
                "the reference answered other cases than the spec's inputs, or with other [launch] settings"
            }
        }
    }
}

impl From<Rule> for &'static str {
    fn from(rule: Rule) -> Self {
        rule.id()
    }
}

impl TryFrom<String> for Rule {
    type Error = String;
    fn try_from(id: String) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|rule| rule.id() == id);
        found.ok_or_else(|| format!("unknown rule {id:?}"))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn exit_statuses_are_distinct_and_leave_two_to_errors() {
        let statuses: BTreeSet<u8> = WORDS.iter().map(|word| exit_status(*word)).collect();
        assert_eq!(statuses, [0, 1, 3, 4, 5].into());
        assert!(!statuses.contains(&EXIT_ERROR));
    }

    #[test]
    fn rule_ids_are_distinct() {
        let ids: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        assert_eq!(ids.len(), Rule::ALL.len());
    }
}
