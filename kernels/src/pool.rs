//! Threads that share one loop at a time: low-overhead, blocking, without a queue.
//!
//! A job is a loop of independent indices. The caller publishes it, works on it too, and returns when nobody works on it
//! any more. Workers spin briefly after a job, because the next one usually follows within microseconds, then sleep.
//! One atomic word carries the job's number, whether it accepts helpers, and how many are inside; a worker that wakes too
//! late finds the job closed and is not waited for.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::dot::Tier;
use crate::error::{Error, Result};

/// The CPU as a computation uses it: a number of threads, the caller's included, and an instruction tier.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// One job at a time; a second caller waits here.
    turn: Mutex<()>,
    tier: Tier,
}

/// Loops of a worker before it sleeps: some tens of microseconds.
const SPINS: u32 = 4000;
/// Set in [`Shared::state`] while a job accepts helpers.
const OPEN: u64 = 1 << 32;
/// One job number further. The low half counts the helpers inside.
const NEXT_JOB: u64 = 1 << 33;
const HELPERS: u64 = OPEN - 1;

#[derive(Debug)]
struct Shared {
    state: AtomicU64,
    job: UnsafeCell<Option<Job>>,
    next: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    stop: AtomicBool,
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
}

/// A loop body whose lifetime has been erased; see the SAFETY comments of [`Pool::run`].
#[derive(Clone, Copy)]
struct Job {
    body: *const (dyn Fn(usize) + Sync),
    count: usize,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("count", &self.count).finish_non_exhaustive()
    }
}

// SAFETY: `job` is written only by the thread that holds `turn`, while the state is closed with no helper inside, and
// read only by helpers that entered an open state. Its body is `Sync`.
unsafe impl Send for Shared {}
// SAFETY: as for `Send`.
unsafe impl Sync for Shared {}

thread_local! {
    /// Whether this thread is inside a job: a loop within a loop runs on its own thread.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

impl Pool {
    /// A pool of `threads` threads, the calling one among them, on the best tier of this processor.
    pub fn new(threads: usize) -> Result<Pool> {
        Pool::with_tier(threads, Tier::detect())
    }

    /// A pool whose kernels run on `tier`; an error where this processor lacks it.
    pub fn with_tier(threads: usize, tier: Tier) -> Result<Pool> {
        let tier = tier.require()?;
        if threads == 0 {
            return Err(Error::NoThreads);
        }
        let shared = Arc::new(Shared {
            state: AtomicU64::new(0),
            job: UnsafeCell::new(None),
            next: AtomicUsize::new(0),
            panic: Mutex::new(None),
            stop: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            bed: Mutex::new(()),
            bell: Condvar::new(),
        });
        let mut pool = Pool { shared, workers: Vec::new(), turn: Mutex::new(()), tier };
        for index in 1..threads {
            let shared = Arc::clone(&pool.shared);
            let worker = std::thread::Builder::new()
                .name(format!("kernels-{index}"))
                .spawn(move || shared.work())
                .map_err(|e| Error::ThreadStart { index, reason: e.to_string() })?;
            pool.workers.push(worker);
        }
        Ok(pool)
    }

    /// Threads that work on a job, the caller included.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// The tier of every kernel that runs on this pool.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Calls `body` with every index below `count`, each once, in no set order, and returns when all calls have.
    ///
    /// A panic in `body` stops the handing out of indices and continues here once every thread has left. A call from
    /// within a job runs on the calling thread alone.
    pub fn run(&self, count: usize, body: &(dyn Fn(usize) + Sync)) {
        if count <= 1 || self.workers.is_empty() || INSIDE.get() {
            (0..count).for_each(body);
            return;
        }
        let turn = lock(&self.turn);
        // SAFETY: only the lifetime changes. The pointer is used by helpers that are inside the job, and this function
        // does not return before the job is closed and the last of them has left.
        let body = unsafe {
            std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(body)
        };
        let job = Job { body, count };
        let shared = &*self.shared;
        // SAFETY: this thread holds `turn` and the last job was closed and left, so nobody reads the slot.
        unsafe { *shared.job.get() = Some(job) };
        shared.next.store(0, Ordering::Relaxed);
        let state = shared.state.load(Ordering::Relaxed);
        shared
            .state
            .store((state & !(OPEN | HELPERS)).wrapping_add(NEXT_JOB) | OPEN, Ordering::SeqCst);
        if shared.sleepers.load(Ordering::SeqCst) > 0 {
            drop(lock(&shared.bed));
            shared.bell.notify_all();
        }
        shared.help(job);
        shared.state.fetch_and(!OPEN, Ordering::AcqRel);
        let mut spins = 0_u32;
        while shared.state.load(Ordering::Acquire) & HELPERS != 0 {
            spins += 1;
            if spins < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        let panic = lock(&shared.panic).take();
        drop(turn);
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    /// Calls `body` with every chunk of `size` values (the last may be shorter) and its index.
    pub fn chunks_mut<T: Send>(
        &self,
        data: &mut [T],
        size: usize,
        body: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let len = data.len();
        let size = size.max(1);
        let start = Exclusive(data.as_mut_ptr());
        self.run(len.div_ceil(size), &|index| {
            let from = index * size;
            let to = (from + size).min(len);
            // SAFETY: chunks of different indices do not overlap, each index is handed out once, and `data` stays
            // borrowed until `run` returns.
            body(index, unsafe { std::slice::from_raw_parts_mut(start.at(from), to - from) });
        });
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        drop(lock(&self.shared.bed));
        self.shared.bell.notify_all();
        for worker in self.workers.drain(..) {
            // A worker catches what its jobs throw; a panic of its own would be ours to lose at shutdown.
            let _ = worker.join();
        }
    }
}

impl Shared {
    /// A worker's life: wait for a job that it has not seen, help, repeat.
    fn work(&self) {
        INSIDE.set(true);
        let mut seen = 0;
        while let Some(state) = self.wait(seen) {
            seen = state / NEXT_JOB;
            if self.enter(seen) {
                // SAFETY: between entering an open job and leaving it, the slot is not written.
                if let Some(job) = unsafe { *self.job.get() } {
                    self.help(job);
                }
                self.state.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// The state of an open job other than `seen`, or nothing when the pool stops.
    fn wait(&self, seen: u64) -> Option<u64> {
        let news = || {
            let state = self.state.load(Ordering::SeqCst);
            (state & OPEN != 0 && state / NEXT_JOB != seen).then_some(state)
        };
        for _ in 0..SPINS {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(state) = news() {
                return Some(state);
            }
            std::hint::spin_loop();
        }
        let mut bed = lock(&self.bed);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        // The sleeper counts itself before it looks, the caller publishes before it counts: one of them sees the other.
        let answer = loop {
            if self.stop.load(Ordering::SeqCst) {
                break None;
            }
            if let Some(state) = news() {
                break Some(state);
            }
            bed = self.bell.wait(bed).unwrap_or_else(PoisonError::into_inner);
        };
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        answer
    }

    /// Counts this thread into job `number`, unless it has closed.
    fn enter(&self, number: u64) -> bool {
        let enter =
            |state: u64| (state & OPEN != 0 && state / NEXT_JOB == number).then_some(state + 1);
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, enter).is_ok()
    }

    /// Takes indices until none is left. Keeps the first panic.
    fn help(&self, job: Job) {
        let outside = INSIDE.replace(true);
        // SAFETY: `run` keeps the body alive until every helper has left.
        let body = unsafe { &*job.body };
        let result = catch_unwind(AssertUnwindSafe(|| {
            loop {
                let index = self.next.fetch_add(1, Ordering::Relaxed);
                if index >= job.count {
                    return;
                }
                body(index);
            }
        }));
        INSIDE.set(outside);
        if let Err(payload) = result {
            self.next.store(job.count, Ordering::Relaxed);
            lock(&self.panic).get_or_insert(payload);
        }
    }
}

/// A pointer to the start of an exclusively borrowed slice, of which each thread takes its own part.
struct Exclusive<T>(*mut T);

// SAFETY: the users of `at` touch disjoint parts.
unsafe impl<T: Send> Sync for Exclusive<T> {}

impl<T> Exclusive<T> {
    /// The element at `offset`, which lies within the slice.
    fn at(&self, offset: usize) -> *mut T {
        // SAFETY: every caller stays within the slice.
        unsafe { self.0.add(offset) }
    }
}

/// The guarded value also after a panic elsewhere: no job leaves one of these locks' data half written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
