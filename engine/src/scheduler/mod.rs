//! Who runs how many tokens in the next step.
//!
//! The scheduler is a pure data structure over requests and counts of blocks: it knows no model, no clock and no thread, so that
//! the same arrivals give the same steps. One token budget serves prompts and answers alike: first every sequence that is
//! generating gets its one token, then prompts take what is left, in pieces. Where blocks run out, the request that matters least
//! gives up its own and is computed again later (vLLM's preemption by recomputation).
//!
//! # Bits
//!
//! What a row becomes may depend on how many rows of its sequence ran with it ([`Pieces`]). The scheduler therefore runs a prompt
//! in pieces that depend on the prompt alone, whatever else is at work; runs what was generated as rows of one, even when it is
//! computed again; and shares only blocks that the other request would have computed in the same pieces.

mod admission;
mod entry;
mod plan;
mod preemption;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::kv::{BlockSize, Blocks, CacheCounts};
use entry::Entry;
pub use plan::{Plan, Rows, Work};

/// Names a request.
pub type RequestId = u64;

/// Into which pieces a prompt may be cut without changing what its rows become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// Any: no row depends on the rows beside it.
    Any,
    /// Only pieces of exactly so many rows from the start of the prompt, and the rest.
    Of(usize),
}

/// Who goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Whoever came first.
    #[default]
    Fcfs,
    /// The lowest priority value, then whoever came first.
    Priority,
}

/// What a scheduler keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sequences at work at once.
    pub max_sequences: usize,
    /// Tokens of a step; see [`Limits::fault`].
    pub step_tokens: usize,
    /// How prompts are cut.
    pub pieces: Pieces,
    /// Who goes first.
    pub policy: Policy,
    /// Requests that may wait.
    pub max_waiting: usize,
    /// Whether blocks are remembered and shared.
    pub reuse_prefixes: bool,
}

/// A request, as the scheduler sees it.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name; no other's.
    pub id: RequestId,
    /// The prompt; not empty.
    pub prompt: Vec<u32>,
    /// Lower goes first under [`Policy::Priority`].
    pub priority: i64,
    /// Shares blocks only with requests of the same salt.
    pub salt: Option<String>,
    /// Whether every row of the prompt must run, because its logits are wanted.
    pub whole_prompt: bool,
}

/// A request that cannot wait because too many do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{waiting} requests are waiting already, as many as may")]
pub struct QueueFull {
    /// How many wait.
    pub waiting: usize,
}

/// How many requests are where, and the blocks they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Requests at work.
    pub running: usize,
    /// Requests that wait.
    pub waiting: usize,
    /// Blocks in use.
    pub used_blocks: usize,
    /// Blocks there are.
    pub total_blocks: usize,
    /// How often a request gave up its blocks.
    pub preemptions: u64,
    /// What the memory of blocks was asked and found.
    pub cache: CacheCounts,
}

/// Decides step by step.
#[derive(Debug)]
pub struct Scheduler {
    limits: Limits,
    size: BlockSize,
    blocks: Blocks,
    /// In the order in which they matter.
    running: Vec<Entry>,
    /// In the same order.
    waiting: VecDeque<Entry>,
    arrivals: u64,
    preemptions: u64,
}

impl Limits {
    /// Why these limits, with blocks of that size, could stall; none if they cannot.
    ///
    /// Every sequence may need a row of the budget in each step, and a prompt must still get its next piece.
    pub fn fault(&self, size: BlockSize) -> Option<String> {
        let piece = match self.pieces {
            Pieces::Any => 1,
            Pieces::Of(rows) => rows,
        };
        let least = self.max_sequences + piece;
        if self.max_sequences == 0 {
            return Some("no sequence may run".to_owned());
        }
        if piece > 1 && !piece.is_multiple_of(size.positions()) {
            return Some(format!(
                "blocks of {} positions do not divide this profile's pieces of {piece} prompt tokens",
                size.positions()
            ));
        }
        (self.step_tokens < least).then(|| {
            format!(
                "{} tokens a step are too few: {} sequences with a token each, and {piece} prompt tokens that must run \
                 together, make {least}",
                self.step_tokens, self.max_sequences
            )
        })
    }
}

impl Scheduler {
    /// A scheduler of so many blocks.
    pub fn new(limits: Limits, size: BlockSize, blocks: usize) -> Self {
        Self {
            limits,
            size,
            blocks: Blocks::new(blocks),
            running: Vec::new(),
            waiting: VecDeque::new(),
            arrivals: 0,
            preemptions: 0,
        }
    }

    /// Lets a request wait for its turn.
    pub fn submit(&mut self, job: Job) -> Result<(), QueueFull> {
        if self.waiting.len() >= self.limits.max_waiting {
            return Err(QueueFull { waiting: self.waiting.len() });
        }
        let entry = Entry::new(job, self.arrivals);
        self.arrivals += 1;
        self.wait(entry);
        Ok(())
    }

    /// Forgets a request, wherever it is; whether it was anywhere.
    pub fn remove(&mut self, id: RequestId) -> bool {
        if let Some(index) = self.running.iter().position(|entry| entry.job.id == id) {
            let entry = self.running.remove(index);
            self.blocks.release(&entry.table);
            return true;
        }
        let index = self.waiting.iter().position(|entry| entry.job.id == id);
        index.is_some_and(|index| self.waiting.remove(index).is_some())
    }

    /// The rows of the next step. They must be run, and [`Scheduler::ran`] told, before the next call.
    pub fn schedule(&mut self) -> Plan {
        let mut plan = Plan::new(self.limits.step_tokens);
        let preempted = self.preemptions;
        self.continue_running(&mut plan, Entry::is_generating);
        self.continue_running(&mut plan, |entry| !entry.is_generating());
        if preempted == self.preemptions {
            self.admit_waiting(&mut plan);
        }
        plan
    }

    /// The rows of a plan have run: their blocks may be remembered.
    pub fn ran(&mut self, plan: &Plan) {
        for work in plan.works() {
            let Some(entry) = self.running.iter_mut().find(|entry| entry.job.id == work.id) else {
                continue;
            };
            entry.computed = work.first + work.rows.count();
            if self.limits.reuse_prefixes {
                let blocks = entry.lasting(self.limits.pieces) / self.size.positions();
                let hashes = entry.chain.up_to(blocks, self.size.positions(), &entry.tokens);
                let full = entry.table.iter().zip(hashes).skip(entry.remembered);
                full.for_each(|(&block, &hash)| self.blocks.remember(block, hash));
                entry.remembered = entry.remembered.max(blocks);
            }
        }
    }

    /// A request has generated a token, which is to run next.
    pub fn push(&mut self, id: RequestId, token: u32) {
        if let Some(entry) = self.running.iter_mut().find(|entry| entry.job.id == id) {
            entry.tokens.push(token);
        }
    }

    /// The block table of a request at work.
    pub fn table(&self, id: RequestId) -> &[u32] {
        let entry = self.running.iter().find(|entry| entry.job.id == id);
        entry.map_or(&[], |entry| &entry.table)
    }

    /// The tokens of a request at work: its prompt and what it generated.
    pub fn tokens(&self, id: RequestId) -> &[u32] {
        let entry = self.running.iter().find(|entry| entry.job.id == id);
        entry.map_or(&[], |entry| &entry.tokens)
    }

    /// Whether there is no request.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    /// Whether a request has not started, or was set back to wait.
    pub fn is_waiting(&self, id: RequestId) -> bool {
        self.waiting.iter().any(|entry| entry.job.id == id)
    }

    /// How things stand.
    pub fn load(&self) -> Load {
        Load {
            running: self.running.len(),
            waiting: self.waiting.len(),
            used_blocks: self.blocks.total() - self.blocks.free(),
            total_blocks: self.blocks.total(),
            preemptions: self.preemptions,
            cache: self.blocks.counts(),
        }
    }

    /// Forgets all remembered blocks.
    pub fn forget_prefixes(&mut self) {
        self.blocks.forget_all();
    }

    /// Puts a request among those that wait, where it matters.
    fn wait(&mut self, entry: Entry) {
        let rank = entry.rank(self.limits.policy);
        let place = self.waiting.partition_point(|other| other.rank(self.limits.policy) < rank);
        self.waiting.insert(place, entry);
    }
}
