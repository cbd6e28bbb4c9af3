//! The rules that void a measurement: their ids and what each means. Each rule is one pure function over recorded samples, in
//! [`crate::metric::validity`], [`crate::clocks::judge`] and [`crate::verdict`]; all are asked and all that are broken are reported.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A rule that voids a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Rule {
    /// Arms or legs ran on different boots or different hardware.
    Boot,
    /// The tokens came at once, not as they were made.
    Buffered,
    /// The prefix cache was not as declared, or nothing shows that it was.
    CachePolicy,
    /// Too few busy samples of the clock.
    ClockCover,
    /// No window of the clock for a leg.
    ClockMiss,
    /// The client, not the server, was at its limit.
    Client,
    /// The clocks of the arms differ.
    ClockOff,
    /// The clock moved inside a window.
    ClockSpread,
    /// Files were to be cold and were not shown to be.
    Cold,
    /// The planned concurrency was not reached.
    Concurrency,
    /// Something else used the machine.
    Contend,
    /// Something that the change cannot move moved.
    Control,
    /// The arm's answers are wrong, or nothing shows that they are right.
    Correct,
    /// Counts of tokens are not exact, or not the server's.
    Count,
    /// A request did not end well.
    Failed,
    /// What was derived contradicts itself.
    Identity,
    /// Memory did not come back between legs.
    MemoryReturn,
    /// A metric is no positive finite number.
    Metric,
    /// Nothing shows that the arms differ.
    NoControl,
    /// Two arms that are the same differ.
    NullArm,
    /// The driver may unload between legs.
    Persistence,
    /// A leg belongs to another plan.
    Plan,
    /// Some legs of an arm were skipped.
    Skip,
    /// Comment frames kept connections alive.
    Sse,
    /// The first arm, repeated at the end, is not what it was.
    Terminal,
    /// The clock was held down.
    Throttle,
    /// The server read other prompts than were sent.
    Truncated,
    /// The arms of a cell did not have the same work.
    Workload,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 28] = [
        Self::Boot,
        Self::Buffered,
        Self::CachePolicy,
        Self::Client,
        Self::ClockCover,
        Self::ClockMiss,
        Self::ClockOff,
        Self::ClockSpread,
        Self::Cold,
        Self::Concurrency,
        Self::Contend,
        Self::Control,
        Self::Correct,
        Self::Count,
        Self::Failed,
        Self::Identity,
        Self::MemoryReturn,
        Self::Metric,
        Self::NoControl,
        Self::NullArm,
        Self::Persistence,
        Self::Plan,
        Self::Skip,
        Self::Sse,
        Self::Terminal,
        Self::Throttle,
        Self::Truncated,
        Self::Workload,
    ];

    /// The id that records carry.
    pub fn id(self) -> &'static str {
        match self {
            Self::Boot => "V-BOOT",
            Self::Buffered => "V-BUFFERED",
            Self::CachePolicy => "V-CACHE-POLICY",
            Self::Client => "V-CLIENT",
            Self::ClockCover => "V-CLOCK-COVER",
            Self::ClockMiss => "V-CLOCK-MISS",
            Self::ClockOff => "V-CLOCK-OFF",
            Self::ClockSpread => "V-CLOCK-SPREAD",
            Self::Cold => "V-COLD",
            Self::Concurrency => "V-CONC",
            Self::Contend => "V-CONTEND",
            Self::Count => "V-COUNT",
            Self::Failed => "V-FAILED",
            Self::Identity => "V-IDENTITY",
            Self::MemoryReturn => "V-MEMRET",
            Self::Persistence => "V-PERSIST",
            Self::Sse => "V-SSE",
            Self::Throttle => "V-THROTTLE",
            Self::Truncated => "V-TRUNC",
            Self::Control => "V-CONTROL",
            Self::Correct => "V-CORRECT",
            Self::Metric => "V-METRIC",
            Self::NoControl => "V-NOCONTROL",
            Self::NullArm => "V-NULL",
            Self::Plan => "V-PLAN",
            Self::Skip => "V-SKIP",
            Self::Terminal => "V-TERMINAL",
            Self::Workload => "V-WORKLOAD",
        }
    }

    /// Whether it is about what the machine did around a leg, whatever was measured in it. A leg that breaks such rules alone may be run
    /// again, as often as its plan says: that a run is kept then depends on nothing that it measured.
    pub fn is_of_the_machine(self) -> bool {
        matches!(self, Self::ClockSpread | Self::Contend)
    }

    /// What breaks it, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Boot => "arms or legs ran on different boots or different hardware",
            Self::Buffered => "the tokens of an answer came at once, not as they were made",
            Self::CachePolicy => {
                "the prefix cache was not as declared, or the server did not say how much came from it"
            }
            Self::Client => "the client was late or too busy, so that it measured itself",
            Self::ClockCover => "too few busy samples of the clock to describe the window",
            Self::ClockMiss => "a leg has no window of the clock",
            Self::ClockOff => "the clocks of the arms differ",
            Self::ClockSpread => "the clock moved inside a window",
            Self::Cold => "files were to be out of the page cache and were not shown to be",
            Self::Concurrency => "fewer requests were in work at once than were planned",
            Self::Contend => "something else used the machine, or nothing shows that it did not",
            Self::Count => "counts of tokens are not exact, or the server gave none",
            Self::Failed => "a request failed, was answered partially, or was given up",
            Self::Identity => "what was derived from the traces contradicts itself",
            Self::MemoryReturn => "memory did not come back between legs",
            Self::Persistence => {
                "persistence mode is off, so that the driver may unload between legs"
            }
            Self::Sse => "the server sent comment frames to keep connections alive",
            Self::Throttle => "the clock was held down by power, heat or a brake",
            Self::Truncated => "the server read prompts of another length than were sent",
            Self::Control => "a metric that the change cannot move moved",
            Self::Correct => {
                "the arm's answers were not shown to be right, or were shown to be wrong"
            }
            Self::Metric => "a metric is missing, or is no positive finite number",
            Self::NoControl => "nothing shows that the arms differ",
            Self::NullArm => "two arms that are the same differ by more than the margin",
            Self::Plan => "a leg belongs to another plan",
            Self::Skip => "some legs of an arm were skipped and others were not",
            Self::Terminal => "the first arm, repeated at the end, is not what it was",
            Self::Workload => "the arms of a cell did not have the same work",
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

/// A broken rule, with what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// The sentence.
    pub reason: String,
}

impl Violation {
    /// A violation of `rule`.
    pub fn new(rule: Rule, reason: impl Into<String>) -> Self {
        Self { rule, reason: reason.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_its_own_id_and_reads_back() {
        for rule in Rule::ALL {
            assert_eq!(Rule::try_from(rule.id().to_owned()), Ok(rule));
            assert!(rule.id().starts_with("V-") && !rule.meaning().is_empty());
        }
        assert!(Rule::try_from("V-NONE".to_owned()).is_err());
        let ids: std::collections::BTreeSet<_> = Rule::ALL.map(Rule::id).into();
        assert_eq!(ids.len(), Rule::ALL.len());
    }
}
