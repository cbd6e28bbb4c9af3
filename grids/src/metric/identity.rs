//! What must hold between traces and what was derived from them. A contradiction is a finding of its own, V-IDENTITY: whatever was
//! wrong, no number of that leg can be trusted.

use crate::load::trace::Trace;
use crate::metric::concurrency::in_flight;
use crate::metric::ends::Ends;
use crate::metric::latency::{Latency, gaps};
use crate::metric::seconds;
use crate::metric::stream::{arrivals, tokens_seen};
use crate::metric::throughput::{Throughput, peak_output};
use crate::metric::window::Window;
use crate::rule::{Rule, Violation};

/// Little's law holds up to this share: what its two sides may differ by for reasons of counting at the edges.
pub const LITTLE_SHARE: f64 = 0.02;

/// Stretch over which the peak rate of tokens is taken.
pub const PEAK_WIDTH_NS: u64 = 1_000_000_000;

/// All contradictions of a leg of which `sent` requests went out.
pub fn identities(traces: &[Trace], sent: usize) -> Vec<Violation> {
    let mut found: Vec<Violation> = traces
        .iter()
        .flat_map(|trace| [well_formed(trace), whole(trace), counted(trace)])
        .flatten()
        .collect();
    found.extend(
        [ends(traces, sent), peak(traces), peak_rate(traces), little(traces)].into_iter().flatten(),
    );
    found
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "every identity answers an Option, and ends with this"
)]
fn contradiction(reason: String) -> Option<Violation> {
    Some(Violation::new(Rule::Identity, reason))
}

/// Time and counts go one way, and every event belongs to a read.
pub fn well_formed(trace: &Trace) -> Option<Violation> {
    let of = |what: &str| contradiction(format!("request {}: {what}", trace.request));
    if !trace.reads.is_sorted_by_key(|read| read.at_ns) {
        return of("reads go back in time");
    }
    if trace.reads.first().is_some_and(|read| read.at_ns < trace.sent_ns) {
        return of("an answer came before the request was sent");
    }
    if trace.ended_ns < trace.reads.last().map_or(trace.sent_ns, |read| read.at_ns) {
        return of("it ended before its last read");
    }
    if !trace.events.is_sorted_by_key(|event| event.read) {
        return of("events go back to earlier reads");
    }
    if trace.events.iter().any(|event| event.read as usize >= trace.reads.len()) {
        return of("an event belongs to no read");
    }
    if !trace.events.is_sorted_by_key(|event| event.tokens) {
        return of("the count of tokens falls");
    }
    None
}

/// TTFT + all gaps = E2E, to the nanosecond.
pub fn whole(trace: &Trace) -> Option<Violation> {
    let all = arrivals(trace)?;
    let Latency { ttft_token_ns, e2e_last_token_ns, .. } = Latency::of(trace);
    let (ttft, e2e) = (ttft_token_ns?, e2e_last_token_ns?);
    let sum = ttft + gaps(&all).iter().sum::<u64>();
    if sum == e2e {
        return None;
    }
    let request = trace.request;
    contradiction(format!("request {request}: TTFT and gaps are {sum} ns, end to end {e2e} ns"))
}

/// The tokens of all arrivals are the tokens seen.
pub fn counted(trace: &Trace) -> Option<Violation> {
    let sum: u64 = arrivals(trace)?.iter().map(|arrival| u64::from(arrival.tokens)).sum();
    let seen = tokens_seen(trace);
    if sum == u64::from(seen) {
        return None;
    }
    contradiction(format!("request {}: {sum} tokens arrived, {seen} were counted", trace.request))
}

/// Sent = sum of ends, and no request has two traces.
pub fn ends(traces: &[Trace], sent: usize) -> Option<Violation> {
    let sum = Ends::of(traces).sum();
    if sum != sent {
        return contradiction(format!("{sent} requests were sent, {sum} ended"));
    }
    let distinct: std::collections::BTreeSet<_> =
        traces.iter().map(|trace| trace.request).collect();
    if distinct.len() == traces.len() {
        return None;
    }
    contradiction(format!("{} traces are of {} requests", traces.len(), distinct.len()))
}

/// Peak concurrency >= mean concurrency.
pub fn peak(traces: &[Trace]) -> Option<Violation> {
    let levels = in_flight(traces);
    let (peak, mean) = (f64::from(levels.peak()), levels.mean(Window::full(traces)?));
    if peak >= mean {
        return None;
    }
    contradiction(format!("{peak} requests in flight at most, {mean} on average"))
}

/// Peak rate of tokens >= mean rate.
pub fn peak_rate(traces: &[Trace]) -> Option<Violation> {
    let peak = peak_output(traces, PEAK_WIDTH_NS)?;
    let first = traces.iter().filter_map(|trace| Some(arrivals(trace)?.first()?.at_ns)).min()?;
    let window = Window::new(first, Window::full(traces)?.to_ns)
        .filter(|window| window.length_ns() >= PEAK_WIDTH_NS)?;
    // The last second of the run may be cut off: whole seconds cover at most one more than the window holds.
    let covered = seconds(window.length_ns().div_ceil(PEAK_WIDTH_NS) * PEAK_WIDTH_NS);
    let mean = Throughput::of(traces, window).output * seconds(window.length_ns()) / covered;
    if peak >= mean * (1.0 - 1e-9) {
        return None;
    }
    contradiction(format!("{peak} tokens a second at most, {mean} on average"))
}

/// Little's law (J. D. C. Little, Operations Research 9 (1961) 383-387): mean concurrency = rate x mean time in flight, within
/// [`LITTLE_SHARE`]. The left side is integrated over exact overlaps, the right side counts requests.
pub fn little(traces: &[Trace]) -> Option<Violation> {
    let window = Window::full(traces)?;
    let concurrency = in_flight(traces).mean(window);
    let times = traces.iter().map(|trace| trace.ended_ns.saturating_sub(trace.sent_ns));
    let mean_ns = times.map(|ns| ns as f64).sum::<f64>() / traces.len() as f64;
    let expected = traces.len() as f64 / window.length_ns() as f64 * mean_ns;
    if (concurrency - expected).abs() <= LITTLE_SHARE * expected {
        return None;
    }
    contradiction(format!(
        "Little's law: {concurrency} in flight on average, {expected} by rate x time"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::trace::{End, EventKind};
    use crate::metric::fixture::{Stream, at_ms, bundled};

    fn four() -> Vec<Trace> {
        (0..4)
            .map(|index| {
                let sent = at_ms(u64::from(index) * 100);
                let chunks = Stream::sent(sent).chunks(sent + at_ms(50), at_ms(20), 40, 2);
                Trace { request: index, ..chunks.done(sent + at_ms(840)) }
            })
            .collect()
    }

    #[test]
    fn sound_traces_contradict_nothing() {
        assert_eq!(identities(&four(), 4), []);
        assert_eq!(identities(&[bundled()], 1), []);
        assert_eq!(identities(&[], 0), []);
        let failed = Stream::sent(3).ends(9, End::TimedOut);
        assert_eq!(identities(&[failed], 1), []);
    }

    #[test]
    fn a_lost_request_is_found() {
        assert_eq!(ends(&four(), 5).unwrap().rule, Rule::Identity);
        let mut twice = four();
        twice[1].request = 0;
        assert!(ends(&twice, 4).unwrap().reason.contains("4 traces are of 3 requests"));
    }

    #[test]
    fn each_broken_trace_is_found() {
        type Break = (&'static str, fn(&mut Trace));
        let broken: [Break; 6] = [
            ("reads go back", |trace| trace.reads[1].at_ns = 5_000),
            ("before the request was sent", |trace| trace.sent_ns = 25),
            ("ended before", |trace| trace.ended_ns = 59),
            ("earlier reads", |trace| trace.events.swap(0, 1)),
            ("no read", |trace| trace.events[3].read = 4),
            ("falls", |trace| trace.events[1].tokens = 9),
        ];
        let sound = || Stream::sent(10).chunks(20, 10, 3, 1).done(60);
        assert_eq!(well_formed(&sound()), None);
        for (reason, breaks) in broken {
            let mut trace = sound();
            breaks(&mut trace);
            let found = well_formed(&trace).unwrap();
            assert!(found.reason.contains(reason), "{reason}: {}", found.reason);
        }
    }

    /// A token that belongs to an event between two others keeps the sums; one before the send has no TTFT to add to.
    #[test]
    fn sums_hold_with_events_without_tokens() {
        let trace = Stream::sent(0)
            .event(5, EventKind::Empty, 0)
            .chunks(10, 10, 2, 3)
            .event(25, EventKind::Empty, 6)
            .event(30, EventKind::Content, 7)
            .done(40);
        assert_eq!((whole(&trace), counted(&trace)), (None, None));
    }

    /// A request whose end lies before its send has no overlap but a place in the count.
    #[test]
    fn little_sees_what_does_not_add_up() {
        let mut traces = four();
        traces[0].sent_ns = traces[0].ended_ns + 5;
        assert!(well_formed(&traces[0]).is_some());
        assert_eq!(little(&four()), None);
    }
}
