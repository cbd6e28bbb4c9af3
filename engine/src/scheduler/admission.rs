//! Requests that wait start, as far as sequences, tokens and blocks allow.

use super::{Pieces, Plan, Scheduler};

impl Scheduler {
    /// Starts requests in the order in which they matter, until one has no room: nobody overtakes.
    pub(super) fn admit_waiting(&mut self, plan: &mut Plan) {
        while self.running.len() < self.limits.max_sequences && plan.budget() > 0 {
            let Some(index) = self.admit_next(plan) else { break };
            let entry = &self.running[index];
            // Asked for before it was admitted.
            if let Some(rows) = entry.next(self.limits.pieces, plan.budget()) {
                self.plan_rows(index, rows, plan);
            }
        }
    }

    /// Lets the first request that waits join those at work, with the blocks that it shares; none if there is no room for it.
    ///
    /// There must be blocks for all its tokens and the next, though they are given only as they are needed.
    fn admit_next(&mut self, plan: &Plan) -> Option<usize> {
        let (size, pieces) = (self.size.positions(), self.limits.pieces);
        let entry = self.waiting.front_mut()?;
        let asked = entry.shareable(pieces) / size;
        let hashes = if self.limits.reuse_prefixes {
            entry.chain.up_to(asked, size, &entry.tokens).to_vec()
        } else {
            Vec::new()
        };
        let mut known = self.blocks.known(&hashes);
        if let Pieces::Of(piece) = pieces {
            known = known / (piece / size) * (piece / size);
        }
        let hashes = &hashes[..known];
        let all = self.size.blocks_for(entry.tokens.len() + 1).min(self.blocks.total());
        let new = all - known;
        if new + self.blocks.known_free(hashes) > self.blocks.free() {
            return None;
        }
        entry.computed = known * size;
        if entry.next(pieces, plan.budget()).is_none() {
            entry.computed = 0;
            return None;
        }
        entry.table = self.blocks.share(hashes);
        entry.remembered = known;
        if self.limits.reuse_prefixes && !entry.job.whole_prompt {
            self.blocks.count_search(entry.tokens.len(), known * size);
        }
        let entry = self.waiting.pop_front()?;
        let rank = entry.rank(self.limits.policy);
        let place = self.running.partition_point(|other| other.rank(self.limits.policy) < rank);
        self.running.insert(place, entry);
        Some(place)
    }
}
