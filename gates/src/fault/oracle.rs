//! What faults on an oracle's answers to itself act on.

use oracles::verbs::Completion;

/// How the oracle was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// Alone, for the first time or again.
    Alone {
        /// How often before.
        repeat: u32,
    },
    /// With other requests in work.
    Together,
    /// With its prompt cached.
    Cached,
    /// In a prefill pass; the completion has the positions that were read.
    Prefilled,
    /// In a process that executes it in its other way.
    OtherExecution,
}

/// One answer of the oracle.
#[derive(Debug, Clone, PartialEq)]
pub struct OracleAnswer {
    /// What it answered.
    pub completion: Completion,
    /// Requests in work at once, or cached tokens; 0 where neither is told.
    pub count: u32,
}

impl OracleAnswer {
    /// The runner-up in place of the last choice, the ranking with it, so that the answer does not contradict itself.
    pub(super) fn other_last_choice(&mut self) {
        let Some(step) = self.completion.steps.last_mut() else { return };
        if let [first, second, ..] = step.top.as_mut_slice() {
            std::mem::swap(&mut first.0, &mut second.0);
            step.id = first.0;
        }
        if let Some(id) = self.completion.ids.last_mut() {
            *id = step.id;
        }
    }
}
