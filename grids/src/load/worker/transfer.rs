//! Bytes to and from the sockets of a thread, and what becomes of a connection at the end of an exchange.

use std::sync::atomic::Ordering;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::sockopt;

use super::{Due, Ended, GRACE_NS, PROMPT_NS, READ_BYTES, READS_A_TURN, Worker, key, serial};
use crate::load::answer::{Answer, Progress};
use crate::load::connection::{Exchange, receive};
use crate::load::monotonic::now_ns;
use crate::load::plan::Arrival;
use crate::load::request::Request;
use crate::load::run::Output;
use crate::load::stream;
use crate::load::trace::Trace;

impl Worker<'_> {
    pub(super) fn handle(&mut self, token: u64, flags: EventFlags) {
        let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        let Some(connection) = self.at(token) else { return };
        if !connection.is_connected {
            if !flags.contains(EventFlags::OUT) && !broken {
                return;
            }
            match sockopt::socket_error(&connection.socket) {
                Ok(Ok(())) => connection.is_connected = true,
                Ok(Err(error)) | Err(error) => {
                    self.finish(token, Ended::Broken(error.to_string()));
                    return;
                }
            }
        }
        if flags.contains(EventFlags::OUT) {
            self.upload(token);
        }
        if broken || flags.intersects(EventFlags::IN | EventFlags::RDHUP) {
            self.receive(token, broken || flags.contains(EventFlags::RDHUP));
        }
    }

    /// Writes the next part of a request that is not written yet.
    pub(super) fn upload(&mut self, token: u64) {
        let start_ns = self.start_ns;
        let Some(connection) = self.at(token) else { return };
        let Some(exchange) = connection.exchange.as_mut().filter(|_| !connection.is_queued) else {
            return;
        };
        if exchange.is_written() {
            return;
        }
        let mut late = None;
        if exchange.written == 0 && !exchange.is_resent {
            let now = now_ns().saturating_sub(start_ns);
            exchange.answer.set_sent(now);
            late = Some(now.saturating_sub(exchange.due_ns));
        }
        match connection.write() {
            Ok(true) => {
                let is_whole = connection.exchange.as_ref().is_none_or(|e| e.is_written());
                connection.is_queued = !is_whole;
                if !is_whole {
                    self.queued.push_back(token);
                }
            }
            Ok(false) => {}
            Err(error) => {
                // What the server said before it closed comes first.
                self.receive(token, true);
                self.finish(token, Ended::Broken(error.to_string()));
                return;
            }
        }
        if let Some(late) = late {
            self.harvest.account.schedule_lag.add(late);
        }
    }

    /// Reads what is there. `is_closing`: the server has closed its side, which only a read of no bytes shows.
    pub(super) fn receive(&mut self, token: u64, is_closing: bool) {
        for _ in 0..READS_A_TURN {
            let Some(connection) = self.connections.get_mut(key(token)) else { return };
            if connection.serial != serial(token) {
                return;
            }
            let result = receive(&connection.socket, &mut self.buffer);
            let at_ns = now_ns().saturating_sub(self.start_ns);
            let length = match result {
                Ok(length) => length,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => continue,
                Err(error) => {
                    self.finish(token, Ended::Broken(error.to_string()));
                    return;
                }
            };
            let Some(exchange) = connection.exchange.as_mut() else {
                // Nothing was asked: an idle connection that is closed, or a server that speaks out of turn.
                self.connections.remove(key(token));
                return;
            };
            if length == 0 {
                self.finish(token, Ended::Closed);
                return;
            }
            let account = &mut self.harvest.account;
            account.reads += 1;
            account.read_lag.add(at_ns.saturating_sub(self.lain_since_ns));
            let before = exchange.answer.events();
            let progress = exchange.answer.read(at_ns, &self.buffer[..length]);
            account.events += (exchange.answer.events() - before) as u64;
            match progress {
                Ok(Progress::Ended { is_reusable }) => {
                    let is_reusable = is_reusable && !is_closing;
                    self.finish(token, Ended::Whole { is_reusable });
                    return;
                }
                Ok(Progress::Going) => {
                    if exchange.answer.is_done() {
                        let due = (token, exchange.request, Due::Grace);
                        self.timers.push(at_ns + GRACE_NS, due);
                    }
                }
                Err(message) => {
                    self.finish(token, Ended::Broken(message));
                    return;
                }
            }
            if length < READ_BYTES && !is_closing {
                return;
            }
        }
        if let Some(connection) = self.at(token).filter(|connection| !connection.is_queued) {
            connection.is_queued = true;
            self.queued.push_back(token);
        }
    }

    /// Takes the exchange off its connection and decides what becomes of both.
    pub(super) fn finish(&mut self, token: u64, ended: Ended) {
        let now = self.now();
        let Some(connection) = self.at(token) else { return };
        let exchange = connection.exchange.take();
        let is_written = exchange.as_ref().is_some_and(|exchange| exchange.is_written());
        let (answers, idle_since_ns) = (connection.answers, connection.idle_since_ns);
        if matches!(ended, Ended::Whole { is_reusable: true }) && is_written {
            connection.idle_since_ns = now;
            connection.answers += 1;
            self.idle.push(token);
        } else {
            self.connections.remove(key(token));
        }
        let Some(exchange) = exchange else { return };
        let is_cut = matches!(ended, Ended::Closed | Ended::Broken(_));
        if is_cut && answers > 0 && !exchange.is_resent && !exchange.answer.has_begun() {
            // The server closed the connection after the answer before this one, and the request crossed with that. RFC 9112, section
            // 9.3.1, has such a request sent again; its times count from when it was sent first.
            self.is_dropped_each_time |= exchange.due_ns.saturating_sub(idle_since_ns) < PROMPT_NS;
            self.harvest.account.resent += 1;
            self.carry_anew(Box::new(Exchange { written: 0, is_resent: true, ..*exchange }));
            return;
        }
        self.keep(exchange.answer, exchange.request, ended);
    }

    pub(super) fn keep(&mut self, answer: Answer, request: u32, ended: Ended) {
        let now = self.now();
        let (trace, said) = match ended {
            Ended::Whole { .. } => answer.ended(now),
            Ended::Closed => answer.closed(now),
            Ended::Broken(message) => answer.broken(now, message),
            Ended::TimedOut => answer.timed_out(now),
            Ended::Cancelled => answer.cancelled(now),
        };
        self.in_flight -= 1;
        self.freed_ns = trace.ended_ns;
        let next = self.next_turn(request, &trace, said.as_deref());
        if next.is_none() && matches!(self.shared.plan.arrival, Arrival::Closed { .. }) {
            self.slots.push(trace.ended_ns);
        }
        let ended_ns = trace.ended_ns;
        self.harvest.traces.push(trace);
        self.harvest.outputs.extend(said.map(|said| Output { request, said: *said }));
        if let Some((request, planned)) = next {
            self.send(request, &planned, ended_ns, ended_ns);
        }
    }

    /// What the conversation of a request goes on with: nothing where there is none, where it is over, where its answer did not come
    /// well, and where nothing new is to be sent.
    fn next_turn(
        &mut self,
        request: u32,
        trace: &Trace,
        said: Option<&stream::Output>,
    ) -> Option<(u32, Request)> {
        let plan = self.shared.plan;
        let is_over = plan.issue_ns.is_some_and(|issue| trace.ended_ns >= issue);
        if is_over || self.shared.stop.load(Ordering::Relaxed) {
            return None;
        }
        self.dialogues.as_mut()?.next(request, trace, said)
    }
}
