//! A request between two steps.

use super::{Job, Pieces, Policy, Rows};
use crate::kv::Chain;

/// A request and how far it is.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) job: Job,
    /// The prompt and what was generated.
    pub(super) tokens: Vec<u32>,
    /// Tokens whose keys and values are in the table's blocks.
    pub(super) computed: usize,
    pub(super) table: Vec<u32>,
    pub(super) chain: Chain,
    /// Blocks that were offered to be remembered.
    pub(super) remembered: usize,
    arrival: u64,
}

impl Entry {
    pub(super) fn new(job: Job, arrival: u64) -> Self {
        let (tokens, chain) = (job.prompt.clone(), Chain::new(job.salt.as_deref()));
        Self { job, tokens, computed: 0, table: Vec::new(), chain, remembered: 0, arrival }
    }

    /// What it is compared by: lower matters more.
    pub(super) fn rank(&self, policy: Policy) -> (i64, u64) {
        match policy {
            Policy::Fcfs => (0, self.arrival),
            Policy::Priority => (self.job.priority, self.arrival),
        }
    }

    /// Whether its next row is the token that it generated last.
    pub(super) fn is_generating(&self) -> bool {
        self.computed >= self.job.prompt.len() && self.computed + 1 == self.tokens.len()
    }

    /// The rows to run next, of a budget that may be too small for any.
    pub(super) fn next(&self, pieces: Pieces, budget: usize) -> Option<Rows> {
        let prompt = self.job.prompt.len();
        let rows = match (self.computed < prompt, pieces) {
            (true, Pieces::Any) => Rows::Together(budget.min(prompt - self.computed)),
            (true, Pieces::Of(piece)) => {
                let end = prompt.min((self.computed / piece + 1) * piece);
                Rows::Together(end - self.computed)
            }
            (false, _) => Rows::Single(budget.min(self.tokens.len() - self.computed)),
        };
        (1..=budget).contains(&rows.count()).then_some(rows)
    }

    /// The tokens at the start whose rows any request with these tokens in its prompt would compute in the same pieces, of those
    /// that are computed.
    pub(super) fn lasting(&self, pieces: Pieces) -> usize {
        match pieces {
            Pieces::Any => self.computed,
            Pieces::Of(piece) => self.computed.min(self.job.prompt.len()) / piece * piece,
        }
    }

    /// The tokens at the start that may come from other requests' blocks: at least one row must run, for its logits.
    pub(super) fn shareable(&self, pieces: Pieces) -> usize {
        if self.job.whole_prompt {
            return 0;
        }
        let most = self.tokens.len() - 1;
        match pieces {
            Pieces::Any => most,
            Pieces::Of(piece) => most.min(self.job.prompt.len()) / piece * piece,
        }
    }
}
