//! The words of the status column.

use std::fmt;

/// What may be said of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// A threshold declared beforehand was reached on every repeat.
    Met,
    /// The difference lies inside the measured null band.
    Tie,
    /// A valid measurement is below the floor.
    NotMet,
    /// Every boolean gate passed, and no number is owed.
    Pass,
    /// A boolean gate failed, and no number is owed.
    Fail,
    /// Some of it is shown; what is missing is named.
    Partial,
    /// Meant as binding, with repetitions missing.
    Provisional,
    /// The sign is credible, the size is not.
    Directional,
    /// Ran, but spread or coverage is too poor for a value.
    NotEstablished,
    /// Was valid; its pin has moved since.
    Superseded,
    /// Passed at other sources or under another spec, or was skipped.
    Unverified,
    /// A validity rule fired, or correctness failed: no number, not a bad number.
    Void,
    /// Only a cross-arm clock rule fired: both absolutes stand, no ratio does.
    Discard,
    /// A rule demands it, it can be run here, and it was not.
    Owed,
    /// Runnable in principle; waits for something named.
    Pending,
    /// Nothing was run, nothing is claimed.
    NotMeasured,
    /// Correctness or plumbing only: inventing a number would be fabrication.
    NoNumberOwed,
    /// The axis cannot move, or has no meaning there.
    NotApplicable,
    /// Stopped from outside, with the condition that would free it.
    Blocked,
    /// Cannot run on any machine we have, with the arithmetic.
    Infeasible,
}

impl Word {
    /// All words, in the order of the counts line: what is decided first.
    pub const ALL: [Self; 20] = [
        Self::Met,
        Self::Tie,
        Self::NotMet,
        Self::Pass,
        Self::Fail,
        Self::Partial,
        Self::Provisional,
        Self::Directional,
        Self::NotEstablished,
        Self::Superseded,
        Self::Unverified,
        Self::Void,
        Self::Discard,
        Self::Owed,
        Self::Pending,
        Self::NotMeasured,
        Self::NoNumberOwed,
        Self::NotApplicable,
        Self::Blocked,
        Self::Infeasible,
    ];

    /// The word as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Met => "MET",
            Self::Tie => "TIE",
            Self::NotMet => "NOT MET",
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Partial => "PARTIAL",
            Self::Provisional => "PROVISIONAL",
            Self::Directional => "DIRECTIONAL",
            Self::NotEstablished => "NOT ESTABLISHED",
            Self::Superseded => "SUPERSEDED",
            Self::Unverified => "UNVERIFIED",
            Self::Void => "VOID",
            Self::Discard => "DISCARD",
            Self::Owed => "OWED",
            Self::Pending => "PENDING",
            Self::NotMeasured => "NOT MEASURED",
            Self::NoNumberOwed => "NO NUMBER OWED",
            Self::NotApplicable => "NOT APPLICABLE",
            Self::Blocked => "BLOCKED",
            Self::Infeasible => "INFEASIBLE",
        }
    }

    /// Whether a track may be declared to carry this word without a record: only words that claim nothing.
    pub fn can_be_declared(self) -> bool {
        matches!(
            self,
            Self::NotApplicable
                | Self::Infeasible
                | Self::Blocked
                | Self::Pending
                | Self::NotMeasured
        )
    }

    /// Whether it says that the track, or its twin, was shown in full.
    pub fn is_shown(self) -> bool {
        matches!(self, Self::Met | Self::Tie | Self::Pass)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl std::str::FromStr for Word {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let word = Self::ALL.into_iter().find(|word| word.as_str() == text);
        word.ok_or_else(|| format!("unknown word {text:?}"))
    }
}
