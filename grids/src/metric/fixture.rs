//! Small traces for tests, written by hand.

use crate::load::trace::{End, Event, EventKind, Read, TokensBy, Trace, Usage};
use crate::metric::ms;

/// A trace as it grows: every event comes with a read of its own.
#[derive(Clone)]
pub(crate) struct Stream(Trace);

impl Stream {
    /// Sent when it was meant to be.
    pub(crate) fn sent(at_ns: u64) -> Self {
        Self(Trace {
            request: 0,
            prompt_tokens: 8,
            output_tokens: 0,
            intended_ns: at_ns,
            sent_ns: at_ns,
            reads: Vec::new(),
            events: Vec::new(),
            tokens_by: TokensBy::Ids,
            usage: None,
            ended_ns: at_ns,
            end: End::Ok,
        })
    }

    /// Meant to be sent earlier.
    pub(crate) fn intended(mut self, at_ns: u64) -> Self {
        self.0.intended_ns = at_ns;
        self
    }

    /// An event in a read of its own; `tokens` is the count so far.
    pub(crate) fn event(mut self, at_ns: u64, kind: EventKind, tokens: u32) -> Self {
        self.0.reads.push(Read { at_ns, bytes: 100 });
        let read = self.0.reads.len() as u32 - 1;
        self.0.events.push(Event { read, kind, tokens });
        self
    }

    /// `chunks` events of `each` tokens, the first at `first_ns`, one every `gap_ns`.
    pub(crate) fn chunks(mut self, first_ns: u64, gap_ns: u64, chunks: u32, each: u32) -> Self {
        for chunk in 0..chunks {
            let at_ns = first_ns + u64::from(chunk) * gap_ns;
            self = self.event(at_ns, EventKind::Content, (chunk + 1) * each);
        }
        self
    }

    /// The server's account, right in every number.
    pub(crate) fn usage(mut self) -> Self {
        self.0.usage = Some(Usage {
            prompt_tokens: self.0.prompt_tokens,
            completion_tokens: self.count(),
            cached_tokens: None,
        });
        self
    }

    fn count(&self) -> u32 {
        self.0.events.last().map_or(0, |event| event.tokens)
    }

    /// Ends well with `[DONE]`, having been asked for the tokens that came.
    pub(crate) fn done(self, at_ns: u64) -> Trace {
        let tokens = self.count();
        let mut trace = self.event(at_ns, EventKind::Done, tokens).0;
        trace.output_tokens = tokens;
        trace.ended_ns = at_ns;
        trace
    }

    /// Ends otherwise.
    pub(crate) fn ends(mut self, at_ns: u64, end: End) -> Trace {
        self.0.output_tokens = self.count() + 1;
        self.0.ended_ns = at_ns;
        self.0.end = end;
        self.0
    }
}

/// Nanoseconds of so many milliseconds.
pub(crate) const fn at_ms(ms: u64) -> u64 {
    ms * 1_000_000
}

/// The stream by which tools differ: 64 tokens in 16 chunks of 4, 40 ms apart, the first after 100 ms; `[DONE]` a millisecond later.
pub(crate) fn bundled() -> Trace {
    Stream::sent(0).chunks(at_ms(100), at_ms(40), 16, 4).usage().done(at_ms(701))
}

/// Whether two numbers are the same up to rounding.
pub(crate) fn is_close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

#[test]
fn the_bundled_stream_is_what_it_says() {
    let trace = bundled();
    assert_eq!((trace.events.len(), trace.output_tokens), (17, 64));
    assert!(is_close(ms(trace.reads[15].at_ns), 700.0));
}
