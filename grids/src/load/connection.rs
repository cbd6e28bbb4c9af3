//! One keep-alive connection: a socket that never blocks.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use super::answer::Answer;

/// Bytes that are handed to a socket at once, so that a long prompt does not keep the thread from reading.
pub(super) const WRITE_BYTES: usize = 64 << 10;

/// A request under way.
#[derive(Debug)]
pub(super) struct Exchange {
    /// Its place in the plan.
    pub(super) request: u32,
    pub(super) answer: Answer,
    /// Head and body.
    pub(super) bytes: Arc<[u8]>,
    /// When it was due.
    pub(super) due_ns: u64,
    /// When it is given up.
    pub(super) deadline_ns: u64,
    /// When it is given up by plan.
    pub(super) cancel_ns: Option<u64>,
    /// Bytes of it that the socket has taken.
    pub(super) written: usize,
    /// It is sent for the second time.
    pub(super) is_resent: bool,
}

impl Exchange {
    /// The socket has taken all of it.
    pub(super) fn is_written(&self) -> bool {
        self.written == self.bytes.len()
    }
}

/// A socket and what it carries.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: OwnedFd,
    /// Distinguishes it from others that had the same place.
    pub(super) serial: u32,
    pub(super) is_connected: bool,
    /// Asked to be looked at again without a sign from the system.
    pub(super) is_queued: bool,
    pub(super) idle_since_ns: u64,
    /// Whole answers that it carried.
    pub(super) answers: u32,
    pub(super) exchange: Option<Box<Exchange>>,
}

impl Connection {
    /// Starts to connect.
    pub(super) fn open(address: SocketAddr, serial: u32) -> Result<Self, Errno> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        let is_connected = match rustix::net::connect(&socket, &address) {
            Ok(()) => true,
            Err(Errno::INPROGRESS) => false,
            Err(error) => return Err(error),
        };
        Ok(Self {
            socket,
            serial,
            is_connected,
            is_queued: false,
            idle_since_ns: 0,
            answers: 0,
            exchange: None,
        })
    }

    /// Hands the next part of the request to the socket. False when it is full.
    pub(super) fn write(&mut self) -> Result<bool, Errno> {
        let Some(exchange) = &mut self.exchange else { return Ok(true) };
        let rest = &exchange.bytes[exchange.written..];
        match send(&self.socket, &rest[..rest.len().min(WRITE_BYTES)]) {
            Ok(written) => {
                exchange.written += written;
                Ok(true)
            }
            Err(Errno::AGAIN) => Ok(false),
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

/// Reads what has arrived. A socket's own call is a twentieth cheaper than that for any file.
pub(crate) fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    rustix::net::recv(socket, buffer, RecvFlags::empty()).map(|(length, _)| length)
}

/// Writes what there is room for. A connection that has ended is an error, not a signal.
pub(crate) fn send(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)
}
