//! Requests at work go on; where blocks run out, the ones that matter least give theirs up.

use super::entry::Entry;
use super::{Plan, Rows, Scheduler, Work};

impl Scheduler {
    /// Plans the next rows of the requests at work that `wanted` tells, in the order in which they matter.
    pub(super) fn continue_running(&mut self, plan: &mut Plan, wanted: impl Fn(&Entry) -> bool) {
        let mut index = 0;
        while index < self.running.len() {
            let entry = &self.running[index];
            let rows = entry.next(self.limits.pieces, plan.budget()).filter(|_| wanted(entry));
            match rows {
                Some(rows) if self.make_room(index, rows, plan) => {
                    self.plan_rows(index, rows, plan);
                }
                _ => {}
            }
            index += 1;
        }
    }

    /// Frees blocks for rows of a request at work, from the request that matters least on; whether the request is still at work.
    fn make_room(&mut self, index: usize, rows: Rows, plan: &mut Plan) -> bool {
        while self.blocks.free() < self.lacking(index, rows) {
            let Some(mut victim) = self.running.pop() else { return false };
            plan.withdraw(victim.job.id);
            self.blocks.release(&victim.table);
            victim.table.clear();
            (victim.computed, victim.remembered) = (0, 0);
            self.preemptions += 1;
            self.wait(victim);
            if self.running.len() == index {
                return false;
            }
        }
        true
    }

    /// Blocks that a request at work has not yet, and needs for its next rows.
    fn lacking(&self, index: usize, rows: Rows) -> usize {
        let entry = &self.running[index];
        self.size.blocks_for(entry.computed + rows.count()).saturating_sub(entry.table.len())
    }

    /// Gives a request at work the blocks for its next rows, which are free, and plans them.
    pub(super) fn plan_rows(&mut self, index: usize, rows: Rows, plan: &mut Plan) {
        let lacking = self.lacking(index, rows);
        let entry = &mut self.running[index];
        entry.table.extend(self.blocks.allocate(lacking).unwrap_or_default());
        let first = entry.computed;
        plan.add(Work {
            id: entry.job.id,
            first,
            rows,
            samples: first + rows.count() == entry.tokens.len(),
            all_logits: entry.job.whole_prompt && matches!(rows, Rows::Together(_)),
        });
    }
}
