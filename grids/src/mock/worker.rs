//! One thread of the mock: its epoll, its clients, and what is due to them.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, sockopt};
use slab::Slab;

use super::ask::Asked;
use super::mode::{CONNECTIONS, Mode};
use super::render;
use super::script::{Pace, script};
use super::server::Counters;
use super::session::{Fate, Playing, Session};
use crate::load::connection::receive;
use crate::load::monotonic::{MILLISECOND_NS, now_ns, thread_cpu_ns, timespec};
use crate::load::timers::Timers;

const READ_BYTES: usize = 64 << 10;
const READY: usize = 512;
/// The longest sleep, so that the end is seen.
const SLEEP_NS: u64 = 20 * MILLISECOND_NS;
/// Marks the listener among the tokens.
const LISTENER: u64 = u64::MAX;

pub(super) struct Worker {
    mode: Mode,
    pace: Pace,
    counters: Arc<Counters>,
    listener: TcpListener,
    epoll: OwnedFd,
    buffer: Vec<u8>,
    bytes: Vec<u8>,
    sessions: Slab<Session>,
    serial: u32,
    timers: Timers<u64>,
}

impl Worker {
    pub(super) fn new(
        mode: Mode,
        pace: Pace,
        counters: Arc<Counters>,
        listener: TcpListener,
    ) -> Result<Self, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        // Several threads wait on one listener; only one of them is to wake for a client.
        let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), flags)?;
        Ok(Self {
            mode,
            pace,
            counters,
            listener,
            epoll,
            buffer: vec![0; READ_BYTES],
            bytes: Vec::new(),
            sessions: Slab::new(),
            serial: 0,
            timers: Timers::default(),
        })
    }

    /// Serves until told to stop.
    pub(super) fn run(mut self) -> Result<(), Errno> {
        let (cpu_ns, start_ns) = (thread_cpu_ns(), now_ns());
        let mut ready: Vec<epoll::Event> = Vec::with_capacity(READY);
        while !self.counters.stop.load(Ordering::Relaxed) {
            self.play_due();
            let now = now_ns();
            let until = self.timers.next_at().unwrap_or(u64::MAX);
            ready.clear();
            let timeout = timespec(until.saturating_sub(now).min(SLEEP_NS));
            let room = rustix::buffer::spare_capacity(&mut ready);
            match epoll::wait(&self.epoll, room, Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
            for event in &ready {
                if self.timers.next_at().is_some_and(|at| at <= now_ns()) {
                    self.play_due();
                }
                match event.data.u64() {
                    LISTENER => self.accept(),
                    token => self.handle(token, event.flags),
                }
            }
            self.counters.busy(thread_cpu_ns() - cpu_ns, now_ns() - start_ns);
        }
        Ok(())
    }

    fn at(&mut self, token: u64) -> Option<&mut Session> {
        let session = self.sessions.get_mut((token & u64::from(u32::MAX)) as usize)?;
        (session.serial == (token >> 32) as u32).then_some(session)
    }

    fn accept(&mut self) {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        while let Ok(socket) = rustix::net::accept_with(&self.listener, flags) {
            let open = self.counters.open.fetch_add(1, Ordering::Relaxed);
            if self.mode == Mode::ConnectionLimit && open >= CONNECTIONS {
                self.counters.open.fetch_sub(1, Ordering::Relaxed);
                self.counters.refused.fetch_add(1, Ordering::Relaxed);
                reset(&socket);
                continue;
            }
            let _ = sockopt::set_tcp_nodelay(&socket, true);
            self.serial = self.serial.wrapping_add(1) & (u32::MAX >> 1);
            let entry = self.sessions.vacant_entry();
            let token = u64::from(self.serial) << 32 | entry.key() as u64;
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            if epoll::add(&self.epoll, &socket, EventData::new_u64(token), flags).is_ok() {
                entry.insert(Session::new(socket, self.serial));
            }
        }
    }

    fn close(&mut self, token: u64, resets: bool) {
        if self.at(token).is_some() {
            let session = self.sessions.remove((token & u64::from(u32::MAX)) as usize);
            self.counters.open.fetch_sub(1, Ordering::Relaxed);
            if session.playing.is_some() {
                self.counters.left.fetch_add(1, Ordering::Relaxed);
            }
            if resets {
                reset(&session.socket);
            }
        }
    }

    fn handle(&mut self, token: u64, flags: EventFlags) {
        if flags.contains(EventFlags::OUT) {
            let Some(session) = self.at(token) else { return };
            if session.flush().is_err() {
                self.close(token, false);
                return;
            }
        }
        let closing = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        if flags.intersects(EventFlags::IN | closing) {
            self.receive(token, flags.intersects(closing));
        }
    }

    fn receive(&mut self, token: u64, is_closing: bool) {
        loop {
            let Some(session) = self.sessions.get_mut((token & u64::from(u32::MAX)) as usize)
            else {
                return;
            };
            if session.serial != (token >> 32) as u32 {
                return;
            }
            let length = match receive(&session.socket, &mut self.buffer) {
                Ok(0) => return self.close(token, false),
                Ok(length) => length,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => continue,
                Err(_) => return self.close(token, false),
            };
            let base_ns = now_ns();
            let asked = session.take(&self.buffer[..length]);
            if let Some(asked) = asked {
                self.answer(token, asked, base_ns);
            }
            if length < READ_BYTES && !is_closing {
                return;
            }
        }
    }

    fn answer(&mut self, token: u64, asked: Asked, base_ns: u64) {
        let (mode, pace) = (self.mode, self.pace);
        let mut bytes = Vec::new();
        match asked {
            Asked::Completion(ask) => {
                self.counters.requests.fetch_add(1, Ordering::Relaxed);
                let steps = script(mode, pace, &ask);
                let playing = Playing { ask, steps, next: 0, base_ns };
                let due = playing.due();
                if let Some(session) = self.at(token) {
                    session.playing = Some(playing);
                }
                match due {
                    Some(due) if due <= now_ns() => self.play(token, due),
                    Some(due) => self.timers.push(due, token),
                    None => {}
                }
                return;
            }
            Asked::Statistics => {
                let text = serde_json::to_string(&self.counters.served()).unwrap_or_default();
                render::json(200, &text, &mut bytes);
            }
            Asked::Refused(status, why) => render::failure(status, &why, &mut bytes),
        }
        if self.at(token).is_some_and(|session| session.send(&bytes).is_err()) {
            self.close(token, false);
        }
    }

    fn play_due(&mut self) {
        // What became due meanwhile waits for the next turn, so that requests are read too.
        let now = now_ns();
        while let Some((due, token)) = self.timers.pop_due(now) {
            self.play(token, due);
        }
    }

    fn play(&mut self, token: u64, due: u64) {
        let mode = self.mode;
        let mut bytes = std::mem::take(&mut self.bytes);
        let Some(session) = self.at(token) else {
            self.bytes = bytes;
            return;
        };
        let result = session.play(mode, &mut bytes);
        let next = session.playing.as_ref().and_then(Playing::due);
        self.bytes = bytes;
        let events = result.map_or(0, |played| played.events);
        self.counters.written(due, now_ns(), events);
        match result.map(|played| played.fate) {
            Ok(Fate::Stays) => match next {
                Some(next) => self.timers.push(next, token),
                None => drop(self.counters.completed.fetch_add(1, Ordering::Relaxed)),
            },
            Ok(fate) => self.close(token, fate == Fate::Resets),
            Err(_) => self.close(token, false),
        }
    }
}

/// The socket's end will be a reset.
fn reset(socket: &OwnedFd) {
    let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}
