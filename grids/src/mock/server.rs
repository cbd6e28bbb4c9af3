//! The mock as a whole: a listener, its threads, and what they count.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};

use super::mode::Mode;
use super::rate::Rate;
use super::script::Pace;
use super::worker::Worker;
use crate::load::account::{SpanSummary, Spans};
use crate::pinning::{come_first, pin, sharpen_timers};

/// How a mock serves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; port 0 takes a free one.
    pub address: SocketAddr,
    /// How it answers.
    pub mode: Mode,
    /// How fast.
    pub pace: Pace,
    /// Threads.
    pub threads: usize,
    /// Cores for them; none, or one a thread.
    pub cores: Vec<usize>,
    /// They run before everything else on their cores, where that is allowed.
    pub comes_first: bool,
}

/// The mock could not be started.
#[derive(Debug, thiserror::Error)]
pub enum MockError {
    /// Something that the system refused.
    #[error("{action}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Cores and threads do not fit.
    #[error("the mock is given {cores} cores for {threads} threads")]
    Cores {
        /// Cores.
        cores: usize,
        /// Threads.
        threads: usize,
    },
}

/// What the mock did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Served {
    /// Completions asked for.
    pub requests: u64,
    /// Answers played to their end.
    pub completed: u64,
    /// Answers that the client did not wait for.
    pub left: u64,
    /// Connections refused.
    pub refused: u64,
    /// Connections open now.
    pub open: usize,
    /// Events with tokens that left.
    pub events: u64,
    /// Those a second, while the middle half of them left.
    pub events_per_second: Option<f64>,
    /// How long after its time each write had left.
    pub late: SpanSummary,
    /// Share of its core that the busiest thread used.
    pub busy_share: f64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) stop: AtomicBool,
    pub(super) requests: AtomicU64,
    pub(super) completed: AtomicU64,
    pub(super) left: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) open: AtomicUsize,
    busy_per_mille: AtomicU64,
    writes: Mutex<Writes>,
}

#[derive(Debug, Default)]
struct Writes {
    late: Spans,
    rate: Rate,
}

impl Counters {
    /// A write with so many events of tokens, due and done at these times.
    pub(super) fn written(&self, due_ns: u64, at_ns: u64, events: u64) {
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        writes.late.add(at_ns.saturating_sub(due_ns));
        writes.rate.add(at_ns, events);
    }

    pub(super) fn busy(&self, cpu_ns: u64, wall_ns: u64) {
        let per_mille = cpu_ns.saturating_mul(1000) / wall_ns.max(1);
        self.busy_per_mille.store(per_mille, Ordering::Relaxed);
    }

    pub(super) fn served(&self) -> Served {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        Served {
            requests: get(&self.requests),
            completed: get(&self.completed),
            left: get(&self.left),
            refused: get(&self.refused),
            open: self.open.load(Ordering::Relaxed),
            events: writes.rate.events(),
            events_per_second: writes.rate.middle_per_second(),
            late: writes.late.summary(),
            busy_share: get(&self.busy_per_mille) as f64 / 1000.0,
        }
    }
}

/// A running mock. It ends when this is dropped.
#[derive(Debug)]
pub struct Mock {
    address: SocketAddr,
    counters: Arc<Counters>,
    threads: Vec<JoinHandle<()>>,
}

impl Mock {
    /// Listens, and serves on threads of its own.
    pub fn start(options: &Options) -> Result<Self, MockError> {
        let (cores, threads) = (options.cores.len(), options.threads.max(1));
        if cores != 0 && cores != threads {
            return Err(MockError::Cores { cores, threads });
        }
        let system = |action| move |source| MockError::System { action, source };
        let listener = TcpListener::bind(options.address).map_err(system("listening"))?;
        listener.set_nonblocking(true).map_err(system("listening"))?;
        // The standard library's queue of 128 clients is too short for a thousand that come at once.
        rustix::net::listen(&listener, 4096).map_err(|e| system("listening")(e.into()))?;
        let address = listener.local_addr().map_err(system("listening"))?;
        let counters = Arc::new(Counters::default());
        let mut mock = Self { address, counters, threads: Vec::new() };
        for thread in 0..threads {
            let listener = listener.try_clone().map_err(system("listening"))?;
            let counters = Arc::clone(&mock.counters);
            let worker = Worker::new(options.mode, options.pace, counters, listener)
                .map_err(|error| system("creating an epoll")(error.into()))?;
            let core = options.cores.get(thread).copied();
            let comes_first = options.comes_first;
            let body = move || {
                sharpen_timers();
                if comes_first {
                    come_first();
                }
                if core.map_or(Ok(()), pin).is_ok() {
                    // A thread that cannot wait any more serves nobody: clients see their connections end.
                    let _ = worker.run();
                }
            };
            let spawned = std::thread::Builder::new().name("mock".to_owned()).spawn(body);
            mock.threads.push(spawned.map_err(system("starting a thread"))?);
        }
        Ok(mock)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it, and says what it did: all of it, where a thread that still runs may not have counted its last write.
    pub fn stop(mut self) -> Served {
        self.end();
        self.counters.served()
    }

    fn end(&mut self) {
        self.counters.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.end();
    }
}
