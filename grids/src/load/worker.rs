//! One thread of the load generator: its epoll, its connections, its requests.

mod transfer;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use slab::Slab;

use super::account::ThreadAccount;
use super::answer::Answer;
use super::connection::{Connection, Exchange};
use super::dialogue::Dialogues;
use super::monotonic::{MILLISECOND_NS, SECOND_NS, now_ns, thread_cpu_ns, timespec};
use super::plan::{Arrival, LoadError, Plan};
use super::request::Request;
use super::run::Output;
use super::timers::Timers;
use super::trace::Trace;

/// Bytes of one read.
const READ_BYTES: usize = 64 << 10;
/// Reads of one connection before others have their turn.
const READS_A_TURN: usize = 32;
/// Ready connections that are asked for at once.
const READY: usize = 512;
/// The longest sleep, so that an interrupt is seen.
const SLEEP_NS: u64 = 50 * MILLISECOND_NS;
/// A wait that took longer than this has slept.
const SLEPT_NS: u64 = 50_000;
/// An idle connection is not used again after this long: servers close theirs after 5 s and more, and a request must not meet that.
const IDLE_NS: u64 = 3 * SECOND_NS;
/// A connection that a server closes sooner than this after an answer is one that it does not keep.
const PROMPT_NS: u64 = SECOND_NS;
/// How long a server may take to end the framing after `[DONE]`.
const GRACE_NS: u64 = SECOND_NS;
/// How long opening connections before the start may take.
const CONNECT_NS: u64 = 10 * SECOND_NS;

/// What the threads share: none of it is touched for an event.
pub(super) struct Shared<'a> {
    pub(super) plan: &'a Plan,
    /// The next request of a closed loop.
    pub(super) next: &'a AtomicUsize,
    pub(super) stop: &'a AtomicBool,
    /// This thread runs before everything else on its core.
    pub(super) comes_first: bool,
}

/// What a thread brings home.
pub(super) struct Harvest {
    pub(super) traces: Vec<Trace>,
    pub(super) outputs: Vec<Output>,
    pub(super) account: ThreadAccount,
    pub(super) sent: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Deadline,
    Cancel,
    Grace,
}

/// How an exchange ended, for the connection.
enum Ended {
    Whole { is_reusable: bool },
    Closed,
    Broken(String),
    TimedOut,
    Cancelled,
}

pub(super) struct Worker<'a> {
    shared: Shared<'a>,
    start_ns: u64,
    epoll: OwnedFd,
    ready: Vec<epoll::Event>,
    buffer: Vec<u8>,
    connections: Slab<Connection>,
    serial: u32,
    idle: Vec<u64>,
    /// Connections to go on with that the system will not name again.
    queued: VecDeque<u64>,
    timers: Timers<(u64, u32, Due)>,
    /// Closed loop: when each free slot became free. Open loop with a cap: unused.
    slots: Vec<u64>,
    /// Open loop: the next request of this thread.
    cursor: usize,
    cap: usize,
    /// The cap has kept a request that was due.
    was_full: bool,
    freed_ns: u64,
    is_exhausted: bool,
    /// The server says that it keeps connections and closes them after each answer.
    is_dropped_each_time: bool,
    in_flight: usize,
    woke_ns: u64,
    /// What this turn reads has not lain there longer than since then.
    lain_since_ns: u64,
    /// Where prompts come from answers.
    dialogues: Option<Dialogues<'a>>,
    harvest: Harvest,
}

impl<'a> Worker<'a> {
    /// Opens the connections that the plan wants before the start.
    pub(super) fn new(shared: Shared<'a>, thread: usize) -> Result<Self, LoadError> {
        let plan = shared.plan;
        let (at_a_time, cap) = match &plan.arrival {
            Arrival::Closed { concurrency } => (plan.share(*concurrency, thread), usize::MAX),
            Arrival::Open { cap, .. } => (0, cap.map_or(usize::MAX, |cap| plan.share(cap, thread))),
        };
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(system("creating an epoll"))?;
        let account = ThreadAccount {
            core: plan.cores.get(thread).copied(),
            comes_first: shared.comes_first,
            ..ThreadAccount::default()
        };
        let mut worker = Self {
            shared,
            start_ns: now_ns(),
            epoll,
            ready: Vec::with_capacity(READY),
            buffer: vec![0; READ_BYTES],
            connections: Slab::new(),
            serial: 0,
            idle: Vec::new(),
            queued: VecDeque::new(),
            timers: Timers::default(),
            slots: vec![0; at_a_time],
            cursor: thread,
            cap,
            was_full: false,
            freed_ns: 0,
            is_exhausted: false,
            is_dropped_each_time: false,
            in_flight: 0,
            woke_ns: 0,
            lain_since_ns: 0,
            dialogues: plan.conversations.as_ref().map(Dialogues::new),
            harvest: Harvest { traces: Vec::new(), outputs: Vec::new(), account, sent: 0 },
        };
        worker.connect_ahead(at_a_time + plan.share(plan.connections, thread))?;
        Ok(worker)
    }

    /// Opens connections one after the other: a listener's queue is short, and a thousand at once would overflow it. A server that
    /// takes some and no more is not asked for the rest: the requests will show it.
    fn connect_ahead(&mut self, count: usize) -> Result<(), LoadError> {
        let address = self.shared.plan.address;
        let connect = |source: Errno| LoadError::Connect { address, source: source.into() };
        for _ in 0..count {
            let token = self.open().map_err(connect)?;
            while self.at(token).is_some_and(|connection| !connection.is_connected) {
                if self.now() > CONNECT_NS {
                    return Err(connect(Errno::TIMEDOUT));
                }
                self.turn()?;
            }
            match (self.at(token).is_some(), self.idle.is_empty()) {
                (true, _) => self.idle.push(token),
                (false, true) => return Err(connect(Errno::CONNREFUSED)),
                (false, false) => break,
            }
        }
        Ok(())
    }

    /// Sends and receives until all is done, or the user stops it. Times count from `start_ns`.
    pub(super) fn run(mut self, start_ns: u64) -> Result<Harvest, LoadError> {
        self.start_ns = start_ns;
        let cpu_ns = thread_cpu_ns();
        let now = self.now();
        (self.woke_ns, self.lain_since_ns) = (now, now);
        for (_, connection) in &mut self.connections {
            connection.idle_since_ns = now;
        }
        loop {
            if self.shared.stop.load(Ordering::Relaxed) {
                self.cancel_all();
                break;
            }
            self.expire();
            self.send_due();
            if self.in_flight == 0 && self.is_exhausted {
                break;
            }
            self.turn()?;
        }
        let account = &mut self.harvest.account;
        account.cpu_ns = thread_cpu_ns() - cpu_ns;
        account.wall_ns = now_ns().saturating_sub(start_ns);
        match self.dialogues.and_then(|dialogues| dialogues.without_ids) {
            Some(request) => Err(LoadError::NoIds { request }),
            None => Ok(self.harvest),
        }
    }

    /// Now, from the start.
    fn now(&self) -> u64 {
        now_ns().saturating_sub(self.start_ns)
    }

    fn at(&mut self, token: u64) -> Option<&mut Connection> {
        let connection = self.connections.get_mut(key(token))?;
        (connection.serial == serial(token)).then_some(connection)
    }

    fn wait(&mut self, at_most_ns: u64) -> Result<(), LoadError> {
        self.ready.clear();
        self.ready.reserve(READY);
        let timeout = timespec(at_most_ns);
        let ready = rustix::buffer::spare_capacity(&mut self.ready);
        match epoll::wait(&self.epoll, ready, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(system("waiting for connections")(error)),
        }
    }

    fn turn(&mut self) -> Result<(), LoadError> {
        let before = self.now();
        let until = if self.queued.is_empty() { self.next_at(before) } else { before };
        self.wait(until.saturating_sub(before).min(SLEEP_NS))?;
        let now = self.now();
        self.lain_since_ns = if now - before > SLEPT_NS { now } else { self.woke_ns };
        self.woke_ns = now;
        self.harvest.account.turns += 1;
        let ready = std::mem::take(&mut self.ready);
        for event in &ready {
            self.handle(event.data.u64(), event.flags);
        }
        self.ready = ready;
        if let Some(token) = self.queued.pop_front()
            && let Some(connection) = self.at(token)
        {
            connection.is_queued = false;
            self.upload(token);
            self.receive(token, false);
        }
        Ok(())
    }

    /// When something is to be done even if no connection is ready.
    fn next_at(&self, now: u64) -> u64 {
        let send = match &self.shared.plan.arrival {
            Arrival::Open { intended_ns, .. } if self.in_flight < self.cap => {
                intended_ns.get(self.cursor).copied().filter(|_| !self.is_exhausted)
            }
            _ => None,
        };
        let next = [send, self.timers.next_at()].into_iter().flatten().min();
        next.unwrap_or(now + SLEEP_NS)
    }

    fn send_due(&mut self) {
        let plan = self.shared.plan;
        let now = self.now();
        let mut is_over = plan.issue_ns.is_some_and(|issue| now >= issue);
        match &plan.arrival {
            Arrival::Closed { .. } => {
                while let Some(freed) = self.slots.pop() {
                    let next = if is_over {
                        usize::MAX
                    } else {
                        self.shared.next.fetch_add(1, Ordering::Relaxed)
                    };
                    if next >= plan.requests.len() {
                        is_over = true;
                        self.slots.clear();
                        break;
                    }
                    self.begin(next as u32, freed, freed);
                }
            }
            Arrival::Open { intended_ns, .. } => {
                while let Some(&intended) = intended_ns.get(self.cursor).filter(|_| !is_over) {
                    if intended > now {
                        break;
                    }
                    if self.in_flight >= self.cap {
                        self.was_full = true;
                        break;
                    }
                    let due = if self.was_full { intended.max(self.freed_ns) } else { intended };
                    self.was_full = false;
                    self.begin(self.cursor as u32, intended, due);
                    self.cursor += plan.threads;
                }
                is_over |= self.cursor >= intended_ns.len();
            }
        }
        self.is_exhausted |= is_over;
    }

    /// Sends a request of the plan.
    fn begin(&mut self, request: u32, intended_ns: u64, due_ns: u64) {
        let plan = self.shared.plan;
        self.send(request, &plan.requests[request as usize], intended_ns, due_ns);
    }

    /// Sends a request on an idle connection or a new one.
    fn send(&mut self, request: u32, planned: &Request, intended_ns: u64, due_ns: u64) {
        let plan = self.shared.plan;
        let now = self.now();
        let answer = Answer::new(planned, request, intended_ns, now, plan.keeps_output);
        self.harvest.sent += 1;
        self.in_flight += 1;
        let peak = &mut self.harvest.account.peak_in_flight;
        *peak = (*peak).max(self.in_flight as u64);
        let (deadline_ns, cancel_ns) =
            (now + plan.deadline_ns, planned.cancel_after_ns.map(|after| now + after));
        let exchange = Exchange {
            request,
            answer,
            bytes: planned.bytes.clone(),
            due_ns,
            deadline_ns,
            cancel_ns,
            written: 0,
            is_resent: false,
        };
        match self.take_idle(now) {
            Some(token) => self.carry(token, Box::new(exchange)),
            None => self.carry_anew(Box::new(exchange)),
        }
    }

    /// Sends on a new connection.
    fn carry_anew(&mut self, exchange: Box<Exchange>) {
        match self.open() {
            Ok(token) => self.carry(token, exchange),
            Err(error) => {
                self.keep(exchange.answer, exchange.request, Ended::Broken(error.to_string()));
            }
        }
    }

    fn carry(&mut self, token: u64, exchange: Box<Exchange>) {
        let request = exchange.request;
        self.timers.push(exchange.deadline_ns, (token, request, Due::Deadline));
        if let Some(cancel_ns) = exchange.cancel_ns {
            self.timers.push(cancel_ns, (token, request, Due::Cancel));
        }
        let Some(connection) = self.at(token) else { return };
        connection.exchange = Some(exchange);
        if connection.is_connected {
            self.upload(token);
        }
    }

    /// The connection that was used last. If that one has been idle for too long, so have the others: one is closed and a new one
    /// opened for each request, instead of all at once.
    fn take_idle(&mut self, now: u64) -> Option<u64> {
        if self.is_dropped_each_time {
            return None;
        }
        while let Some(token) = self.idle.pop() {
            let Some(connection) = self.at(token) else { continue };
            if now.saturating_sub(connection.idle_since_ns) <= IDLE_NS {
                return Some(token);
            }
            self.connections.remove(key(token));
            return None;
        }
        None
    }

    fn open(&mut self) -> Result<u64, Errno> {
        self.serial = self.serial.wrapping_add(1);
        let connection = Connection::open(self.shared.plan.address, self.serial)?;
        self.harvest.account.connections += 1;
        let entry = self.connections.vacant_entry();
        let token = u64::from(self.serial) << 32 | entry.key() as u64;
        // Edge-triggered and never changed: a read that does not fill the buffer has emptied the socket.
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &connection.socket, EventData::new_u64(token), flags)?;
        entry.insert(connection);
        Ok(token)
    }

    /// Ends what has run out of time.
    fn expire(&mut self) {
        let now = self.now();
        while let Some((_, (token, request, due))) = self.timers.pop_due(now) {
            let Some(exchange) = self.at(token).and_then(|connection| connection.exchange.as_ref())
            else {
                continue;
            };
            if exchange.request == request {
                let ended = match due {
                    Due::Deadline => Ended::TimedOut,
                    Due::Cancel => Ended::Cancelled,
                    Due::Grace => Ended::Closed,
                };
                self.finish(token, ended);
            }
        }
    }

    fn cancel_all(&mut self) {
        let tokens = self
            .connections
            .iter()
            .map(|(key, connection)| u64::from(connection.serial) << 32 | key as u64);
        for token in tokens.collect::<Vec<_>>() {
            self.finish(token, Ended::Cancelled);
        }
    }
}

fn key(token: u64) -> usize {
    (token & u64::from(u32::MAX)) as usize
}

fn serial(token: u64) -> u32 {
    (token >> 32) as u32
}

fn system(action: &'static str) -> impl FnOnce(Errno) -> LoadError {
    move |error| LoadError::System { action, source: error.into() }
}
