//! What a rule found.

use std::fmt;

/// One thing that is not in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The rule, in a few words.
    pub rule: &'static str,
    /// The file, relative to the root, or the crate.
    pub place: String,
    /// The line, from 1, where there is one.
    pub line: Option<usize>,
    /// What is wrong and what to do.
    pub message: String,
}

impl Defect {
    /// A defect of a whole file or crate.
    pub fn new(rule: &'static str, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { rule, place: place.into(), line: None, message: message.into() }
    }

    /// The same defect at a line.
    #[must_use]
    pub fn at(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        write!(formatter, "{}{line}: {} [{}]", self.place, self.message, self.rule)
    }
}
