//! Times of one request. All start at the moment the first byte was handed to the socket, unless the name says `intended`.
//!
//! Definitions: `ttft.token` is the first event by which at least one token was there. `ttft.byte`, `ttft.event` and
//! `ttft.content` are kept apart, because a server's first bytes, its first event (often a role alone) and its first visible text may
//! come at other times. A gap lies between two events that brought tokens.

use serde::{Deserialize, Serialize};

use crate::load::trace::Trace;
use crate::metric::stream::{self, Arrival, arrivals, tokens};

/// Everything that one request's times say, in nanoseconds. What the trace does not hold is `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Sent minus intended: how late the client was.
    pub lag_ns: Option<u64>,
    /// First byte of the answer minus sent.
    pub ttft_byte_ns: Option<u64>,
    /// First event that is no comment minus sent.
    pub ttft_event_ns: Option<u64>,
    /// First event with text or ids minus sent.
    pub ttft_content_ns: Option<u64>,
    /// First token minus sent.
    pub ttft_token_ns: Option<u64>,
    /// First token minus intended: the wait for a free slot counts.
    pub ttft_intended_ns: Option<u64>,
    /// (Last token - first token) / (n - 1); `None` below two tokens.
    ///
    /// MLPerf Inference rules, "TPOT": (completion - first token) / (tokens - 1), <https://github.com/mlcommons/inference_policies>.
    pub tpot_ns: Option<f64>,
    /// Last token minus sent.
    pub e2e_last_token_ns: Option<u64>,
    /// `[DONE]`, or the end of the body where the server sends none, minus sent.
    pub e2e_done_ns: Option<u64>,
    /// Last token minus intended.
    pub e2e_intended_ns: Option<u64>,
    /// The longest gap.
    pub stall_max_gap_ns: Option<u64>,
}

impl Latency {
    /// Derives all of them.
    pub fn of(trace: &Trace) -> Self {
        let from_send = |at: Option<u64>| at?.checked_sub(trace.sent_ns);
        let from_plan = |at: Option<u64>| at?.checked_sub(trace.intended_ns);
        let tokens_at = arrivals(trace);
        let first = tokens_at.as_ref().and_then(|all| all.first()).map(|arrival| arrival.at_ns);
        let last = tokens_at.as_ref().and_then(|all| all.last()).map(|arrival| arrival.at_ns);
        Self {
            lag_ns: trace.sent_ns.checked_sub(trace.intended_ns),
            ttft_byte_ns: from_send(trace.reads.first().map(|read| read.at_ns)),
            ttft_event_ns: from_send(stream::first(trace, stream::is_data)),
            ttft_content_ns: from_send(stream::first(trace, stream::is_content)),
            ttft_token_ns: from_send(first),
            ttft_intended_ns: from_plan(first),
            tpot_ns: tpot(first, last, tokens(trace)),
            e2e_last_token_ns: from_send(last),
            e2e_done_ns: from_send(Some(trace.ended_ns)),
            e2e_intended_ns: from_plan(last),
            stall_max_gap_ns: tokens_at.and_then(|all| gaps(&all).into_iter().max()),
        }
    }
}

/// (last - first) / (n - 1), in nanoseconds.
fn tpot(first: Option<u64>, last: Option<u64>, tokens: u32) -> Option<f64> {
    let after_first = tokens.checked_sub(1).filter(|&count| count > 0)?;
    Some(last?.checked_sub(first?)? as f64 / f64::from(after_first))
}

/// `itl.gap`: the time between each event that brought tokens and the one before, whatever number of tokens it brought.
///
/// Arrivals ascend in time ([`arrivals`] gives no others).
pub fn gaps(arrivals: &[Arrival]) -> Vec<u64> {
    arrivals.windows(2).map(|pair| pair[1].at_ns.saturating_sub(pair[0].at_ns)).collect()
}

/// `itl.token`: each gap shared by the tokens it ended with: for k tokens after a gap g, k times g / k, in nanoseconds.
pub fn gaps_per_token(arrivals: &[Arrival]) -> Vec<f64> {
    let shared = gaps(arrivals).into_iter().zip(arrivals.iter().skip(1)).map(|(gap, arrival)| {
        let each = gap as f64 / f64::from(arrival.tokens);
        std::iter::repeat_n(each, arrival.tokens as usize)
    });
    shared.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::trace::EventKind;
    use crate::metric::fixture::{Stream, at_ms, bundled, is_close};
    use crate::metric::ms;

    /// Intended at 5, sent at 7, role at 20, an empty event's bytes first at 20, ids at 30 (2), 45 (3), 75 (5), [DONE] at 80:
    /// gaps 15 and 30, TPOT 45 / 4.
    #[test]
    fn times_by_hand() {
        let trace = Stream::sent(7)
            .intended(5)
            .event(15, EventKind::Comment, 0)
            .event(20, EventKind::Empty, 0)
            .event(30, EventKind::Content, 2)
            .event(45, EventKind::Content, 3)
            .event(75, EventKind::Content, 5)
            .done(80);
        let found = Latency::of(&trace);
        assert_eq!(found.lag_ns, Some(2));
        assert_eq!(found.ttft_byte_ns, Some(8));
        assert_eq!(found.ttft_event_ns, Some(13));
        assert_eq!(found.ttft_content_ns, Some(23));
        assert_eq!(found.ttft_token_ns, Some(23));
        assert_eq!(found.ttft_intended_ns, Some(25));
        assert_eq!(found.e2e_last_token_ns, Some(68));
        assert_eq!(found.e2e_done_ns, Some(73));
        assert_eq!(found.e2e_intended_ns, Some(70));
        assert_eq!(found.stall_max_gap_ns, Some(30));
        assert!(is_close(found.tpot_ns.unwrap(), 11.25));
    }

    #[test]
    fn gaps_of_the_bundled_stream() {
        let all = arrivals(&bundled()).unwrap();
        assert_eq!(gaps(&all), vec![at_ms(40); 15]);
        let per_token = gaps_per_token(&all);
        assert_eq!(per_token.len(), 60);
        assert!(per_token.iter().all(|&gap| is_close(gap, 1e7)));
        assert!(is_close(Latency::of(&bundled()).tpot_ns.unwrap(), 6e8 / 63.0));
    }

    /// Two events in one read: the second came with the first.
    #[test]
    fn one_read_has_no_gap_inside() {
        let mut trace = Stream::sent(0).chunks(10, 10, 3, 1).done(40);
        trace.events[1].read = 0;
        assert_eq!(gaps(&arrivals(&trace).unwrap()), [0, 20]);
    }

    #[test]
    fn missing_is_missing() {
        let nothing = Latency::of(&Stream::sent(3).ends(9, crate::load::trace::End::TimedOut));
        assert_eq!(
            (
                nothing.ttft_byte_ns,
                nothing.ttft_token_ns,
                nothing.tpot_ns,
                nothing.stall_max_gap_ns
            ),
            (None, None, None, None)
        );
        let one = Latency::of(&Stream::sent(0).chunks(10, 0, 1, 1).done(20));
        assert_eq!((one.ttft_token_ns, one.tpot_ns, one.stall_max_gap_ns), (Some(10), None, None));
        let early = Latency::of(&Stream::sent(10).intended(12).chunks(20, 1, 2, 1).done(30));
        assert_eq!(early.lag_ns, None, "sent before it was meant to be");
        assert!(is_close(ms(1_500_000), 1.5));
    }
}
