//! The engine: requests that are computed together, a step at a time.
//!
//! It belongs to one thread, has no clock and no channel, and is told of requests between steps. The same requests give the same
//! answers to the bit, whatever else is at work: alone, together, cut into pieces, on remembered prefixes, or set back and computed
//! again.

mod forward;
mod request;

use std::collections::BTreeMap;

use kernels::Pool;

use crate::generation::{EndIds, Generating};
use crate::kv::{BlockSize, Budget, Store};
use crate::runner::{RunError, Runner};
use crate::scheduler::{Job, Limits, Load, Plan, RequestId, Scheduler};
use forward::Logits;
pub use request::{Event, Request, SubmitError, Token};

/// A model at work on requests.
pub struct Engine<'m> {
    runner: Runner<'m>,
    store: Store,
    scheduler: Scheduler,
    requests: BTreeMap<RequestId, Generating>,
    ends: EndIds,
    pool: &'m Pool,
    max_model_len: usize,
    next_id: RequestId,
    /// What happened outside a step.
    pending: Vec<Event>,
}

impl<'m> Engine<'m> {
    /// An engine with a cache of that size. The limits are without fault.
    pub fn new(
        runner: Runner<'m>,
        limits: Limits,
        budget: &Budget,
        ends: EndIds,
        pool: &'m Pool,
    ) -> Self {
        let Budget { size, blocks, max_model_len, .. } = *budget;
        let store = runner.store(size, blocks);
        let scheduler = Scheduler::new(limits, size, blocks);
        let (requests, pending) = (BTreeMap::new(), Vec::new());
        Self { runner, store, scheduler, requests, ends, pool, max_model_len, next_id: 0, pending }
    }

    /// Lets a request wait for its turn; the next steps tell what becomes of it.
    pub fn submit(&mut self, request: Request) -> Result<RequestId, SubmitError> {
        let Request { generation, priority, salt } = request;
        generation.check(&self.runner)?;
        let asked = generation.prompt_ids.len().saturating_add(generation.tokens());
        if asked > self.max_model_len {
            let context = self.max_model_len;
            return Err(RunError::ContextOverflow { asked, context }.into());
        }
        let id = self.next_id;
        self.next_id += 1;
        let whole_prompt = generation.prompt_logprobs.is_some();
        let nothing = generation.tokens() == 0 && !whole_prompt;
        let prompt = generation.prompt_ids.clone();
        let generating = Generating::new(generation);
        if nothing {
            let token = Token::none(&generating);
            self.pending.push(Event::Token { id, token });
            self.pending.push(Event::ended(id, generating));
            return Ok(id);
        }
        self.scheduler.submit(Job { id, prompt, priority, salt, whole_prompt })?;
        self.requests.insert(id, generating);
        Ok(id)
    }

    /// Forgets a request; nothing more is told of it.
    pub fn cancel(&mut self, id: RequestId) {
        self.scheduler.remove(id);
        self.requests.remove(&id);
    }

    /// Runs the next rows of some requests, and tells what became of them.
    pub fn step(&mut self) -> Vec<Event> {
        let plan = self.scheduler.schedule();
        let logits = self.forward(&plan);
        let taken = self.sample(&logits);
        self.postprocess(&plan, taken)
    }

    /// Whether there is nothing to do.
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.pending.is_empty()
    }

    /// Whether a request has not started yet, or was set back.
    pub fn is_waiting(&self, id: RequestId) -> bool {
        self.scheduler.is_waiting(id)
    }

    /// How things stand.
    pub fn load(&self) -> Load {
        self.scheduler.load()
    }

    /// Forgets all remembered prefixes.
    pub fn forget_prefixes(&mut self) {
        self.scheduler.forget_prefixes();
    }

    /// The positions of a block.
    pub fn block_size(&self) -> BlockSize {
        self.store.block_size()
    }

    /// The longest sequence, in tokens.
    pub fn max_model_len(&self) -> usize {
        self.max_model_len
    }

    /// Takes a token for every request whose last row has run, each on a thread of the pool.
    fn sample(&mut self, logits: &Logits) -> Vec<(RequestId, Token)> {
        let ends = &self.ends;
        let mut work: Vec<_> = self
            .requests
            .iter_mut()
            .filter(|(id, _)| logits.concern(**id))
            .map(|(&id, generating)| (id, generating, None))
            .collect();
        self.pool.chunks_mut(&mut work, 1, |_, work| {
            for (id, generating, token) in work {
                logits.of_prompt(*id).for_each(|(at, row)| generating.see_prompt(at, row));
                *token = logits.last(*id).map(|row| match generating.request().tokens() {
                    0 => Token::none(generating),
                    _ => Token::taken(generating.take(row, ends), generating),
                });
            }
        });
        work.into_iter().filter_map(|(id, _, token)| Some((id, token?))).collect()
    }

    /// Lets the scheduler know what ran and was taken, and the world.
    fn postprocess(&mut self, plan: &Plan, taken: Vec<(RequestId, Token)>) -> Vec<Event> {
        self.scheduler.ran(plan);
        let mut events = std::mem::take(&mut self.pending);
        for (id, token) in taken {
            match (token.id, token.ended) {
                (Some(token), None) => self.scheduler.push(id, token),
                _ => {
                    self.scheduler.remove(id);
                }
            }
            let ended = token.ended.is_some();
            events.push(Event::Token { id, token });
            if let Some(generating) = ended.then(|| self.requests.remove(&id)).flatten() {
                events.push(Event::ended(id, generating));
            }
        }
        events
    }
}
