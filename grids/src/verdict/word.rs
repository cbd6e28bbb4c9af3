//! The words of a grid and their exit statuses.

use std::fmt;

use records::VerdictWord;
use serde::{Deserialize, Serialize};

/// What is said of one axis at one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
pub enum Word {
    /// Better than the reference, by more than the set-up shows between equals.
    Improved,
    /// The same as the reference, within the band of equivalence, and not worse by the margin.
    Equivalent,
    /// Not worse than the reference by the margin or more.
    Pass,
    /// Worse than the reference by more than the margin.
    Fail,
    /// Worse than the reference by more than the set-up shows between equals.
    Regressed,
    /// The data do not suffice for any of these; it says what more is needed.
    Inconclusive,
    /// A rule was broken: there is no number.
    Void,
    /// An arm is missing: nothing was compared.
    Skipped,
}

impl Word {
    /// Every word.
    pub const ALL: [Self; 8] = [
        Self::Improved,
        Self::Equivalent,
        Self::Pass,
        Self::Fail,
        Self::Regressed,
        Self::Inconclusive,
        Self::Void,
        Self::Skipped,
    ];

    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Improved => "IMPROVED",
            Self::Equivalent => "EQUIVALENT",
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Regressed => "REGRESSED",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Void => "VOID",
            Self::Skipped => "SKIPPED",
        }
    }

    /// The word that a record carries.
    pub fn recorded(self) -> VerdictWord {
        match self {
            Self::Improved | Self::Equivalent | Self::Pass => VerdictWord::Pass,
            Self::Fail | Self::Regressed => VerdictWord::Fail,
            Self::Inconclusive => VerdictWord::NotEstablished,
            Self::Void => VerdictWord::Void,
            Self::Skipped => VerdictWord::Skipped,
        }
    }

    /// The exit status of `grid`; 2 is left to usage, spec and program errors.
    pub fn exit_status(self) -> u8 {
        match self.recorded() {
            VerdictWord::Pass => 0,
            VerdictWord::Fail => 1,
            VerdictWord::NotEstablished => 3,
            VerdictWord::Void => 4,
            VerdictWord::Skipped => 5,
        }
    }

    /// How grave it is: the gravest of many words stands for all of them.
    pub fn gravity(self) -> u8 {
        match self {
            Self::Improved => 0,
            Self::Equivalent => 1,
            Self::Pass => 2,
            Self::Skipped => 3,
            Self::Inconclusive => 4,
            Self::Void => 5,
            Self::Regressed => 6,
            Self::Fail => 7,
        }
    }

    /// Whether the data sufficed to say something about the arms.
    pub fn is_established(self) -> bool {
        matches!(self.recorded(), VerdictWord::Pass | VerdictWord::Fail)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_too_little_nor_void_is_a_pass() {
        let status = |word: Word| word.exit_status();
        assert_eq!(Word::ALL.map(status), [0, 0, 0, 1, 1, 3, 4, 5]);
        for word in Word::ALL {
            assert_eq!(serde_json::to_value(word).unwrap(), word.name());
        }
    }
}
