//! When the tokens of one request arrived.

use crate::load::trace::{Event, EventKind, Trace};

/// Tokens that one event delivered. Events that one read completed bear that read's time, so that the gap between them is 0: they
/// were seen at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at_ns: u64,
    /// How many tokens, at least one.
    pub tokens: u32,
}

/// The events that brought tokens, in order: those at which [`Event::tokens`] rose.
///
/// `None` when the trace contradicts itself (see [`crate::metric::identity::well_formed`]).
pub fn arrivals(trace: &Trace) -> Option<Vec<Arrival>> {
    let mut arrivals = Vec::with_capacity(trace.events.len());
    let mut before = 0;
    for event in &trace.events {
        let tokens = event.tokens.checked_sub(before)?;
        if tokens > 0 {
            arrivals.push(Arrival { at_ns: trace.at_ns(event)?, tokens });
        }
        before = event.tokens;
    }
    arrivals.is_sorted_by_key(|arrival| arrival.at_ns).then_some(arrivals)
}

/// When each event that `wanted` admits arrived.
pub fn times(trace: &Trace, wanted: impl Fn(&Event) -> bool) -> Option<Vec<u64>> {
    trace.events.iter().filter(|event| wanted(event)).map(|event| trace.at_ns(event)).collect()
}

/// When the first event that `wanted` admits arrived.
pub fn first(trace: &Trace, wanted: impl Fn(&Event) -> bool) -> Option<u64> {
    trace.at_ns(trace.events.iter().find(|event| wanted(event))?)
}

/// When the last event that `wanted` admits arrived.
pub fn last(trace: &Trace, wanted: impl Fn(&Event) -> bool) -> Option<u64> {
    trace.at_ns(trace.events.iter().rfind(|event| wanted(event))?)
}

/// Output tokens that were seen: the last cumulative count.
pub fn tokens_seen(trace: &Trace) -> u32 {
    trace.events.last().map_or(0, |event| event.tokens)
}

/// Output tokens of the answer: the server's count where it gave one, otherwise ours.
pub fn tokens(trace: &Trace) -> u32 {
    trace.usage.map_or_else(|| tokens_seen(trace), |usage| usage.completion_tokens)
}

/// Whether the event carried text or token ids.
pub fn is_content(event: &Event) -> bool {
    event.kind == EventKind::Content
}

/// Whether the event had a choice in it: content, or an empty delta (a role, an empty text, a finish reason).
pub fn has_choice(event: &Event) -> bool {
    matches!(event.kind, EventKind::Content | EventKind::Empty)
}

/// Whether the event carried data: anything but a comment.
pub fn is_data(event: &Event) -> bool {
    event.kind != EventKind::Comment
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::fixture::Stream;

    #[test]
    fn arrivals_are_the_rises_of_the_count() {
        let trace = Stream::sent(0)
            .event(10, EventKind::Empty, 0)
            .event(20, EventKind::Content, 3)
            .event(20, EventKind::Comment, 3)
            .event(30, EventKind::Content, 4)
            .event(40, EventKind::Usage, 4)
            .done(50);
        assert_eq!(
            arrivals(&trace),
            Some(vec![Arrival { at_ns: 20, tokens: 3 }, Arrival { at_ns: 30, tokens: 1 }])
        );
        assert_eq!((first(&trace, is_content), last(&trace, has_choice)), (Some(20), Some(30)));
        assert_eq!((first(&trace, has_choice), last(&trace, is_data)), (Some(10), Some(50)));
        assert_eq!(tokens_seen(&trace), 4);
    }

    #[test]
    fn a_trace_that_contradicts_itself_has_no_arrivals() {
        let falling = Stream::sent(0)
            .event(10, EventKind::Content, 2)
            .event(20, EventKind::Content, 1)
            .done(30);
        assert_eq!(arrivals(&falling), None);
        let mut dangling = Stream::sent(0).event(10, EventKind::Content, 1).done(20);
        dangling.events[0].read = 9;
        assert_eq!(arrivals(&dangling), None);
        let backwards = Stream::sent(0)
            .event(20, EventKind::Content, 1)
            .event(10, EventKind::Content, 2)
            .done(30);
        assert_eq!(arrivals(&backwards), None);
    }

    #[test]
    fn nothing_arrived_is_no_time() {
        let nothing = Stream::sent(0).done(50);
        assert_eq!(arrivals(&nothing), Some(Vec::new()));
        assert_eq!(first(&nothing, is_content), None);
        assert_eq!(tokens(&nothing), 0);
    }
}
