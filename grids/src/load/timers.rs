//! Times at which something is due, nearest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Things due, each at its time. What no longer matters stays in until its time and is then ignored by whoever put it in.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    heap: BinaryHeap<Reverse<(u64, T)>>,
}

impl<T: Ord> Default for Timers<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new() }
    }
}

impl<T: Ord> Timers<T> {
    pub(crate) fn push(&mut self, at_ns: u64, what: T) {
        self.heap.push(Reverse((at_ns, what)));
    }

    pub(crate) fn next_at(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// The next thing that is due.
    pub(crate) fn pop_due(&mut self, now_ns: u64) -> Option<(u64, T)> {
        if self.next_at()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse(due)| due)
    }
}
