//! A scheduler that only counts: no blocks with names, no memory of prefixes. What the real one decides without sharing must be the
//! same.

use super::{Limits, Pieces, Policy, Rows, Work};

#[derive(Clone, Debug)]
struct Counted {
    id: u64,
    key: (i64, u64),
    prompt: usize,
    tokens: usize,
    computed: usize,
    /// Positions for which it has blocks; none while it waits.
    held: Option<usize>,
}

/// The state: every request that lives, in the order in which they matter.
pub(super) struct Reference {
    limits: Limits,
    size: usize,
    blocks: usize,
    live: Vec<Counted>,
    arrivals: u64,
}

impl Reference {
    pub(super) fn new(limits: Limits, size: usize, blocks: usize) -> Self {
        Self { limits, size, blocks, live: Vec::new(), arrivals: 0 }
    }

    pub(super) fn submit(&mut self, id: u64, prompt: usize, priority: i64) {
        let first = if self.limits.policy == Policy::Priority { priority } else { 0 };
        let key = (first, self.arrivals);
        self.arrivals += 1;
        self.live.push(Counted { id, key, prompt, tokens: prompt, computed: 0, held: None });
        self.live.sort_by_key(|request| request.key);
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.live.retain(|request| request.id != id);
    }

    pub(super) fn push(&mut self, id: u64) {
        self.live.iter_mut().filter(|r| r.id == id).for_each(|r| r.tokens += 1);
    }

    fn taken(&self) -> usize {
        self.live.iter().filter_map(|r| r.held).map(|held| held.div_ceil(self.size)).sum()
    }

    fn rows(&self, request: &Counted, left: usize) -> Rows {
        let unread = request.prompt.saturating_sub(request.computed);
        match self.limits.pieces {
            _ if unread == 0 => Rows::Single(left.min(request.tokens - request.computed)),
            Pieces::Any => Rows::Together(left.min(unread)),
            Pieces::Of(piece) if piece.min(unread) <= left => Rows::Together(piece.min(unread)),
            Pieces::Of(_) => Rows::Together(0),
        }
    }

    /// The next step, at once as run: (id, first row, rows).
    pub(super) fn step(&mut self) -> Vec<(u64, usize, Rows)> {
        let (mut left, mut preempted) = (self.limits.step_tokens, false);
        let mut planned: Vec<(u64, usize, Rows)> = Vec::new();
        for generating in [true, false] {
            for id in self.live.iter().map(|r| r.id).collect::<Vec<_>>() {
                let Some(request) = self.live.iter().find(|r| r.id == id && r.held.is_some())
                else {
                    continue;
                };
                let one =
                    request.computed >= request.prompt && request.tokens == request.computed + 1;
                let rows = self.rows(request, left);
                if one != generating || rows.count() == 0 {
                    continue;
                }
                let wanted = request.computed + rows.count();
                loop {
                    let own = self.live.iter().find(|r| r.id == id).and_then(|r| r.held);
                    let Some(own) = own else { break };
                    let others = self.taken() - own.div_ceil(self.size);
                    if others + wanted.max(own).div_ceil(self.size) <= self.blocks {
                        break;
                    }
                    preempted = true;
                    let last = self.live.iter_mut().rfind(|r| r.held.is_some()).unwrap();
                    (last.held, last.computed) = (None, 0);
                    let last = last.id;
                    planned.retain(|&(other, _, rows)| {
                        if other == last {
                            left += rows.count();
                        }
                        other != last
                    });
                }
                let request = self.live.iter_mut().find(|r| r.id == id).unwrap();
                if let Some(held) = request.held {
                    request.held = Some(held.max(wanted));
                    planned.push((id, request.computed, rows));
                    left -= rows.count();
                }
            }
        }
        while !preempted && left > 0 {
            let running = self.live.iter().filter(|r| r.held.is_some()).count();
            let Some(request) = self.live.iter().find(|r| r.held.is_none()) else { break };
            let rows = self.rows(request, left);
            let needed = (request.tokens + 1).div_ceil(self.size).min(self.blocks);
            let fits = self.taken() + needed <= self.blocks;
            if running == self.limits.max_sequences || rows.count() == 0 || !fits {
                break;
            }
            planned.push((request.id, 0, rows));
            left -= rows.count();
            let id = request.id;
            let request = self.live.iter_mut().find(|r| r.id == id).unwrap();
            request.held = Some(rows.count());
        }
        for &(id, first, rows) in &planned {
            let request = self.live.iter_mut().find(|r| r.id == id).unwrap();
            request.computed = first + rows.count();
        }
        planned
    }
}

/// A plan's works as the reference tells them.
pub(super) fn told(works: &[Work]) -> Vec<(u64, usize, Rows)> {
    works.iter().map(|work| (work.id, work.first, work.rows)).collect()
}
