//! One answer from its first byte to its end: reads go in, a [`Trace`] comes out. No sockets, no clocks.

use super::http::Response;
use super::piece::{Finish, error_message};
use super::request::Request;
use super::sse::Splitter;
use super::stream::{Output, Stream};
use super::trace::{End, Read, TokensBy, Trace};

/// Bytes of a body that is no stream that are kept, for the message in it.
const BODY_BYTES: usize = 4 << 10;
/// Bytes of a body that an end shows.
const SHOWN_BYTES: usize = 512;

/// What is known after a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More is to come.
    Going,
    /// The answer is whole.
    Ended {
        /// The connection can carry the next request.
        is_reusable: bool,
    },
}

/// How the connection ended an answer that was not whole.
enum Cut {
    /// The server closed it.
    Closed,
    Broken(String),
    TimedOut,
    Cancelled,
}

/// An answer so far.
#[derive(Debug)]
pub struct Answer {
    request: u32,
    prompt_tokens: u32,
    output_tokens: u32,
    is_exact: bool,
    intended_ns: u64,
    sent_ns: u64,
    reads: Vec<Read>,
    response: Response,
    splitter: Splitter,
    stream: Stream,
    /// The head of a body that is no stream.
    body: Vec<u8>,
}

impl Answer {
    /// The answer to a request that is sent now; `index` is its place in the plan.
    pub fn new(
        request: &Request,
        index: u32,
        intended_ns: u64,
        sent_ns: u64,
        keeps_output: bool,
    ) -> Self {
        let capacity = request.output_tokens as usize + 4;
        Self {
            request: index,
            prompt_tokens: request.prompt_tokens,
            output_tokens: request.output_tokens,
            is_exact: request.is_exact,
            intended_ns,
            sent_ns,
            reads: Vec::with_capacity(capacity),
            response: Response::default(),
            splitter: Splitter::default(),
            stream: Stream::new(capacity, request.holds_back, keeps_output),
            body: Vec::new(),
        }
    }

    /// When it was sent, once that is known better than when the answer was made.
    pub fn set_sent(&mut self, sent_ns: u64) {
        self.sent_ns = sent_ns;
    }

    /// A byte of it has come.
    pub fn has_begun(&self) -> bool {
        !self.reads.is_empty()
    }

    /// `[DONE]` has come: what follows is framing alone.
    pub fn is_done(&self) -> bool {
        self.stream.is_done
    }

    /// Events so far.
    pub fn events(&self) -> usize {
        self.stream.events.len()
    }

    /// Takes what a read delivered. An error is the end of the answer, by [`Answer::broken`].
    pub fn read(&mut self, at_ns: u64, bytes: &[u8]) -> Result<Progress, String> {
        let index = self.reads.len() as u32;
        self.reads.push(Read { at_ns, bytes: bytes.len() as u32 });
        let mut rest = bytes;
        while let Some(part) = self.response.next(&mut rest).map_err(|error| error.to_string())? {
            let head = self.response.head();
            if head.is_some_and(|head| head.status == 200 && head.is_event_stream) {
                let stream = &mut self.stream;
                self.splitter
                    .feed(part, &mut |item| stream.item(index, item))
                    .map_err(|error| error.to_string())?;
            } else {
                let room = BODY_BYTES.saturating_sub(self.body.len());
                self.body.extend_from_slice(&part[..part.len().min(room)]);
            }
        }
        if !self.response.has_ended() {
            return Ok(Progress::Going);
        }
        let keeps_alive = self.response.head().is_some_and(|head| head.keeps_alive);
        Ok(Progress::Ended { is_reusable: keeps_alive && rest.is_empty() })
    }

    /// The answer is whole.
    pub fn ended(self, at_ns: u64) -> (Trace, Option<Box<Output>>) {
        self.end(at_ns, Cut::Closed)
    }

    /// The server closed the connection.
    pub fn closed(mut self, at_ns: u64) -> (Trace, Option<Box<Output>>) {
        self.response.close();
        self.end(at_ns, Cut::Closed)
    }

    /// The connection broke, or the server does not keep to the protocol.
    pub fn broken(self, at_ns: u64, message: String) -> (Trace, Option<Box<Output>>) {
        self.end(at_ns, Cut::Broken(message))
    }

    /// The deadline passed.
    pub fn timed_out(self, at_ns: u64) -> (Trace, Option<Box<Output>>) {
        self.end(at_ns, Cut::TimedOut)
    }

    /// It is given up.
    pub fn cancelled(self, at_ns: u64) -> (Trace, Option<Box<Output>>) {
        self.end(at_ns, Cut::Cancelled)
    }

    fn end(self, ended_ns: u64, cut: Cut) -> (Trace, Option<Box<Output>>) {
        let end = self.verdict(cut);
        let trace = Trace {
            request: self.request,
            prompt_tokens: self.prompt_tokens,
            output_tokens: self.output_tokens,
            intended_ns: self.intended_ns,
            sent_ns: self.sent_ns,
            reads: self.reads,
            events: self.stream.events,
            tokens_by: self.stream.tokens_by.unwrap_or(TokensBy::Events),
            usage: self.stream.usage,
            ended_ns,
            end,
        };
        (trace, self.stream.output)
    }

    /// The one end that a request has. What the server said comes before how the connection went, and that before lengths.
    fn verdict(&self, cut: Cut) -> End {
        let stream = &self.stream;
        let is_whole = stream.is_done || self.response.has_ended();
        match self.response.head() {
            Some(head) if head.status != 200 => {
                return End::Http(head.status, shown(&self.body));
            }
            Some(head) if !head.is_event_stream && is_whole => {
                let message = serde_json::from_slice(&self.body).ok();
                let message = message.as_ref().and_then(error_message);
                return End::Error(message.unwrap_or_else(|| shown(&self.body)));
            }
            _ => {}
        }
        if let Some(error) = &stream.error {
            return End::Error(error.clone());
        }
        if !is_whole {
            return match cut {
                Cut::Closed if self.reads.is_empty() => {
                    End::Connection("closed before the answer began".to_owned())
                }
                Cut::Closed => End::Truncated,
                Cut::Broken(message) => End::Connection(message),
                Cut::TimedOut => End::TimedOut,
                Cut::Cancelled => End::Cancelled,
            };
        }
        // A body that ends with neither `[DONE]` nor a reason to finish is a stream that somebody cut and framed.
        if !stream.is_done && stream.finish.is_none() {
            return End::Truncated;
        }
        self.length()
    }

    fn length(&self) -> End {
        let Stream { tokens, tokens_by, usage, finish, .. } = &self.stream;
        let counts_tokens = matches!(tokens_by, Some(TokensBy::Ids | TokensBy::RunningUsage));
        if let Some(usage) = usage {
            let completion = usage.completion_tokens;
            // An event holds at least one token, so a server that counts fewer tokens than events is wrong too.
            let differs = if counts_tokens { completion != *tokens } else { completion < *tokens };
            let prompt_differs = self.is_exact && usage.prompt_tokens != self.prompt_tokens;
            if differs || prompt_differs {
                return End::WrongLength;
            }
        }
        let count = match usage {
            Some(usage) => usage.completion_tokens,
            // Nobody counts: then the server's word stands that the length asked for was reached.
            None if !counts_tokens && *finish == Some(Finish::Length) => self.output_tokens,
            None => *tokens,
        };
        match count.cmp(&self.output_tokens) {
            std::cmp::Ordering::Less => End::Short,
            std::cmp::Ordering::Equal => End::Ok,
            std::cmp::Ordering::Greater => End::WrongLength,
        }
    }
}

fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(SHOWN_BYTES)]).into_owned()
}
