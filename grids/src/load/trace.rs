//! The raw trace of a request: what arrived and when, before anything is derived from it. Metrics are pure functions of it
//! (`metric`); the client (`load`) and a recorded file are its only sources.
//!
//! Times are nanoseconds of one monotonic clock, counted from the start of the run.

use serde::{Deserialize, Serialize};

/// One delivery of bytes by the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// When the read returned, taken before anything was parsed.
    pub at_ns: u64,
    /// Bytes that it returned.
    pub bytes: u32,
}

/// What an event of the stream was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// Carried text or token ids.
    Content,
    /// A delta with nothing in it but a role, an empty text or a finish reason.
    Empty,
    /// Carried the server's count of tokens and no content.
    Usage,
    /// `data: [DONE]`.
    Done,
    /// The server said that the request failed.
    Error,
    /// A comment line, as servers send to keep a connection alive.
    Comment,
}

/// One event of the stream. Events that one read completed bear that read's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Index into [`Trace::reads`] of the read that delivered the last byte of the event.
    pub read: u32,
    /// What it was.
    pub kind: EventKind,
    /// Output tokens received up to and with this event: by token ids or running usage where the server sends them, otherwise
    /// one for each event with content (see [`Trace::tokens_by`]).
    pub tokens: u32,
}

/// How [`Event::tokens`] was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokensBy {
    /// Token ids in the events.
    Ids,
    /// The server's running count in the events.
    RunningUsage,
    /// One for each event with content: right only if the server sends one event a token.
    Events,
}

/// What the server said that it read and wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens of the answer.
    pub completion_tokens: u32,
    /// Tokens of the prompt that came from a prefix cache, if the server says.
    pub cached_tokens: Option<u32>,
}

/// How a request ended. Each request has exactly one end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Whole: the stream ended properly and held as many tokens as were asked for.
    Ok,
    /// The connection ended before the stream did.
    Truncated,
    /// The server reported an error inside the stream (or a body that is no stream), with its message.
    Error(String),
    /// Another status than 200, with the head of the body.
    Http(u16, String),
    /// No connection, or the connection broke: the system's message.
    Connection(String),
    /// The deadline passed first.
    TimedOut,
    /// The stream ended properly with fewer tokens than were asked for.
    Short,
    /// Our count and the server's, or the prompt's length and the server's count of it, differ.
    WrongLength,
    /// Given up by plan or by an interrupted run.
    Cancelled,
}

/// One request, from plan to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Index of the request in the plan: the same prompt for every arm.
    pub request: u32,
    /// Tokens of the prompt as planned.
    pub prompt_tokens: u32,
    /// Output tokens asked for.
    pub output_tokens: u32,
    /// When the plan wanted it sent. In a closed loop, when its slot became free.
    pub intended_ns: u64,
    /// When the first byte of the request was handed to the socket.
    pub sent_ns: u64,
    /// Reads in order.
    pub reads: Vec<Read>,
    /// Events in order; [`Event::tokens`] never falls.
    pub events: Vec<Event>,
    /// How tokens were counted.
    pub tokens_by: TokensBy,
    /// The server's own account, if it gave one.
    pub usage: Option<Usage>,
    /// When the end was known.
    pub ended_ns: u64,
    /// How it ended.
    pub end: End,
}

impl Trace {
    /// The same on a clock that started `earlier_ns` before.
    #[must_use]
    pub fn shifted(mut self, earlier_ns: u64) -> Self {
        let times = [&mut self.intended_ns, &mut self.sent_ns, &mut self.ended_ns];
        for at_ns in times.into_iter().chain(self.reads.iter_mut().map(|read| &mut read.at_ns)) {
            *at_ns += earlier_ns;
        }
        self
    }

    /// When the event arrived: the time of its read.
    pub fn at_ns(&self, event: &Event) -> Option<u64> {
        self.reads.get(event.read as usize).map(|read| read.at_ns)
    }
}
