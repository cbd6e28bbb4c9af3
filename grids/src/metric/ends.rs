//! How many requests ended how.

use serde::{Deserialize, Serialize};

use crate::load::trace::{End, Trace};

/// Counts of ends. Each request has exactly one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ends {
    /// Whole.
    pub ok: usize,
    /// Cut off.
    pub truncated: usize,
    /// The server reported an error in the stream.
    pub error: usize,
    /// Another status than 200.
    pub http: usize,
    /// No connection, or it broke.
    pub connection: usize,
    /// Past the deadline.
    pub timed_out: usize,
    /// Too few tokens.
    pub short: usize,
    /// Counts differ.
    pub wrong_length: usize,
    /// Given up.
    pub cancelled: usize,
}

impl Ends {
    /// Counts them.
    pub fn of(traces: &[Trace]) -> Self {
        let mut ends = Self::default();
        for trace in traces {
            *match trace.end {
                End::Ok => &mut ends.ok,
                End::Truncated => &mut ends.truncated,
                End::Error(_) => &mut ends.error,
                End::Http(..) => &mut ends.http,
                End::Connection(_) => &mut ends.connection,
                End::TimedOut => &mut ends.timed_out,
                End::Short => &mut ends.short,
                End::WrongLength => &mut ends.wrong_length,
                End::Cancelled => &mut ends.cancelled,
            } += 1;
        }
        ends
    }

    /// Those that are not [`Self::ok`] and not given up by plan.
    pub fn failed(&self) -> usize {
        self.sum() - self.ok - self.cancelled
    }

    /// All of them.
    pub fn sum(&self) -> usize {
        let Self {
            ok,
            truncated,
            error,
            http,
            connection,
            timed_out,
            short,
            wrong_length,
            cancelled,
        } = *self;
        ok + truncated + error + http + connection + timed_out + short + wrong_length + cancelled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::fixture::Stream;

    #[test]
    fn every_end_is_counted_once() {
        let kinds = [
            End::Ok,
            End::Truncated,
            End::Error(String::new()),
            End::Http(503, String::new()),
            End::Connection(String::new()),
            End::TimedOut,
            End::Short,
            End::WrongLength,
            End::Cancelled,
        ];
        let traces = kinds.map(|end| Stream::sent(0).ends(1, end));
        let ends = Ends::of(&traces);
        assert_eq!((ends.sum(), ends.ok, ends.failed()), (9, 1, 7));
        assert_eq!(ends.http + ends.short, 2);
    }
}
