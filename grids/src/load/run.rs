//! Runs a plan.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::account::Account;
use super::monotonic::now_ns;
use super::plan::{LoadError, Plan};
use super::stream;
use super::trace::Trace;
use super::worker::{Harvest, Shared, Worker};
use crate::pinning::{come_first, pin, sharpen_timers};

/// What the model said to one request.
#[derive(Clone, Debug)]
pub struct Output {
    /// The request's place in the plan.
    pub request: u32,
    /// What it said.
    pub said: stream::Output,
}

/// What came of a plan.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When it started, on the machine's monotonic clock; the times of the traces count from here.
    pub start_ns: u64,
    /// Requests sent: as many as there are traces.
    pub sent: usize,
    /// One a request that was sent, in the order of the plan.
    pub traces: Vec<Trace>,
    /// What was said, where the plan keeps it, in the order of the plan.
    pub outputs: Vec<Output>,
    /// The client's account of itself.
    pub account: Account,
    /// The user stopped it.
    pub is_interrupted: bool,
}

/// Runs a plan to its end, or until `stop` is set: then what is in flight is cancelled and what came so far is given.
pub fn run(plan: &Plan, stop: &AtomicBool) -> Result<Outcome, LoadError> {
    plan.check()?;
    let (next, start, barrier) =
        (AtomicUsize::new(0), AtomicU64::new(0), Barrier::new(plan.threads));
    let work = |thread: usize| -> Result<Harvest, LoadError> {
        sharpen_timers();
        let comes_first = plan.comes_first && come_first();
        let bound = plan.cores.get(thread).map_or(Ok(()), |core| pin(*core));
        let bound = bound
            .map_err(|source| LoadError::System { action: "binding a thread to its core", source });
        let shared = Shared { plan, next: &next, stop, comes_first };
        let worker = bound.and_then(|()| Worker::new(shared, thread));
        // Whoever failed comes to the barrier too, or the others would wait for ever.
        if barrier.wait().is_leader() {
            start.store(now_ns(), Ordering::SeqCst);
        }
        barrier.wait();
        worker?.run(start.load(Ordering::SeqCst))
    };
    let harvests: Vec<Result<Harvest, LoadError>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..plan.threads).map(|thread| scope.spawn(move || work(thread))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(Err(LoadError::Panicked)))
            .collect()
    });
    let mut outcome = Outcome {
        start_ns: start.load(Ordering::SeqCst),
        sent: 0,
        traces: Vec::new(),
        outputs: Vec::new(),
        account: Account::default(),
        is_interrupted: stop.load(Ordering::SeqCst),
    };
    for harvest in harvests {
        let harvest = harvest?;
        outcome.sent += harvest.sent;
        outcome.traces.extend(harvest.traces);
        outcome.outputs.extend(harvest.outputs);
        outcome.account.threads.push(harvest.account);
    }
    outcome.traces.sort_unstable_by_key(|trace| trace.request);
    outcome.outputs.sort_unstable_by_key(|output| output.request);
    Ok(outcome)
}
