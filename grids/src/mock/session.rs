//! One connection of a client: requests in, one script at a time out.

use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::ask::{self, Ask};
use super::mode::Mode;
use super::render::{render, write_bytes};
use super::script::{Part, Step};
use crate::load::connection::send;

/// A script that is being played.
#[derive(Debug)]
pub(super) struct Playing {
    pub(super) ask: Ask,
    pub(super) steps: Vec<Step>,
    pub(super) next: usize,
    /// When the request was whole.
    pub(super) base_ns: u64,
}

impl Playing {
    /// When the next step is due; `None` at the end.
    pub(super) fn due(&self) -> Option<u64> {
        self.steps.get(self.next).map(|step| self.base_ns + step.at_ns)
    }
}

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Stays,
    Closes,
    Resets,
}

/// What a write came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Played {
    pub(super) fate: Fate,
    /// Events with tokens in it.
    pub(super) events: u64,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) socket: OwnedFd,
    pub(super) serial: u32,
    /// Bytes of a request that is not whole.
    pub(super) input: Vec<u8>,
    /// Bytes that the request will have, once its head is there.
    needed: Option<usize>,
    /// Bytes that the socket had no room for.
    output: Vec<u8>,
    pub(super) playing: Option<Playing>,
}

impl Session {
    pub(super) fn new(socket: OwnedFd, serial: u32) -> Self {
        Self { socket, serial, input: Vec::new(), needed: None, output: Vec::new(), playing: None }
    }

    /// Takes bytes; gives what is asked for once a request is whole. A client that does not wait for its answer is not served.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Option<ask::Asked> {
        let refused = || ask::Asked::Refused(400, "no request".to_owned());
        if self.input.is_empty() && ask::length(bytes) == Ok(Some(bytes.len())) {
            return Some(ask::read(bytes));
        }
        self.input.extend_from_slice(bytes);
        if self.needed.is_none() {
            self.needed = match ask::length(&self.input) {
                Ok(needed) => needed,
                Err(_) => return Some(refused()),
            };
            self.input.reserve(self.needed.unwrap_or(0).saturating_sub(self.input.len()));
        }
        let needed = self.needed?;
        match self.input.len().cmp(&needed) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Greater => Some(refused()),
            std::cmp::Ordering::Equal => {
                self.needed = None;
                let asked = ask::read(&self.input);
                self.input.clear();
                Some(asked)
            }
        }
    }

    /// Plays all steps of the next time as one write; gives what the connection comes to.
    pub(super) fn play(&mut self, mode: Mode, bytes: &mut Vec<u8>) -> Result<Played, Errno> {
        let mut played = Played { fate: Fate::Stays, events: 0 };
        let Some(playing) = &mut self.playing else { return Ok(played) };
        let Some(at_ns) = playing.due() else { return Ok(played) };
        bytes.clear();
        while playing.due() == Some(at_ns) {
            let part = playing.steps[playing.next].part;
            playing.next += 1;
            played.events += u64::from(matches!(part, Part::Tokens { .. }));
            match part {
                Part::Reset => played.fate = Fate::Resets,
                Part::Close => played.fate = Fate::Closes,
                _ => render(mode, &playing.ask, part, bytes),
            }
        }
        if playing.due().is_none() {
            self.playing = None;
        }
        for part in bytes.chunks(write_bytes(mode).unwrap_or(usize::MAX)) {
            self.send(part)?;
        }
        Ok(played)
    }

    /// Writes, or keeps what the socket has no room for.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        if !self.output.is_empty() {
            self.output.extend_from_slice(bytes);
            return Ok(());
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            match send(&self.socket, rest) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.output.extend_from_slice(rest);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes what was kept, now that there is room.
    pub(super) fn flush(&mut self) -> Result<(), Errno> {
        let kept = std::mem::take(&mut self.output);
        self.send(&kept)
    }
}
