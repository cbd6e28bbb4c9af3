//! Lies that a client might tell, planted into its traces. The self-test has to find each: a judge that was never seen to refuse is
//! no judge.

use super::collect::Collected;
use crate::load::stream::Output;
use crate::load::trace::{End, EventKind, Trace};

/// A lie.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Its name.
    pub name: &'static str,
    /// What the client does.
    pub plants: &'static str,
    /// How it changes what was collected.
    pub plant: fn(&mut Collected),
}

/// All of them.
pub const FAULTS: &[Fault] = &[
    Fault {
        name: "late-stamp",
        plants: "reads are stamped 10 ms after they returned",
        plant: |collected| each_read(collected, |at_ns, _| at_ns + 10_000_000),
    },
    Fault {
        name: "late-send",
        plants: "the clock of a request starts 10 ms after it was sent",
        plant: |collected| {
            collected.traces.iter_mut().for_each(|trace| trace.sent_ns += 10_000_000);
        },
    },
    Fault {
        name: "batched-stamps",
        plants: "reads are stamped in pairs, when the second has returned",
        plant: |collected| {
            for trace in &mut collected.traces {
                for pair in trace.reads.chunks_exact_mut(2) {
                    pair[0].at_ns = pair[1].at_ns;
                }
            }
        },
    },
    Fault {
        name: "slow-clock",
        plants: "the clock runs 10 % slow",
        plant: |collected| {
            each_read(collected, |at_ns, sent_ns| sent_ns + (at_ns - sent_ns) / 10 * 9);
        },
    },
    Fault {
        name: "slot-smoothed",
        plants: "gaps are levelled over all requests, so that a slow slot vanishes",
        plant: level,
    },
    Fault {
        name: "lost-event",
        plants: "the last event with tokens is lost",
        plant: |collected| {
            for trace in &mut collected.traces {
                if let Some(place) = trace.events.iter().rposition(|e| e.kind == EventKind::Content)
                {
                    trace.events.remove(place);
                }
            }
        },
    },
    Fault {
        name: "event-is-token",
        plants: "every event with content counts as one token",
        plant: |collected| recount(collected, |kind| kind == EventKind::Content),
    },
    Fault {
        name: "role-is-token",
        plants: "the first event counts as the first token, whatever is in it",
        plant: |collected| {
            recount(collected, |kind| matches!(kind, EventKind::Content | EventKind::Empty));
        },
    },
    Fault {
        name: "comment-is-event",
        plants: "comments count as events with content",
        plant: |collected| each_event_kind(collected, EventKind::Comment, EventKind::Content),
    },
    Fault {
        name: "error-is-success",
        plants: "a stream with an error event counts as whole",
        plant: |collected| ends(collected, |end| matches!(end, End::Error(_))),
    },
    Fault {
        name: "cut-is-success",
        plants: "a stream that was cut counts as whole",
        plant: |collected| {
            ends(collected, |end| matches!(end, End::Truncated | End::Connection(_)));
        },
    },
    Fault {
        name: "short-is-success",
        plants: "an answer with too few tokens counts as whole",
        plant: |collected| ends(collected, |end| *end == End::Short),
    },
    Fault {
        name: "counts-unchecked",
        plants: "a server that counts wrong is believed",
        plant: |collected| ends(collected, |end| *end == End::WrongLength),
    },
    Fault {
        name: "usage-ignored",
        plants: "the server's count is not read",
        plant: |collected| collected.traces.iter_mut().for_each(|trace| trace.usage = None),
    },
    Fault {
        name: "lost-request",
        plants: "a request that failed is left out",
        plant: |collected| drop(collected.traces.pop()),
    },
    Fault {
        name: "two-ends",
        plants: "a request ends twice",
        plant: |collected| {
            let twice = collected.traces.last().cloned();
            collected.traces.extend(twice);
        },
    },
    Fault {
        name: "garbled-text",
        plants: "characters that were cut between reads are lost",
        plant: |collected| {
            collected.outputs.iter_mut().for_each(|output| output.said = Output::default());
        },
    },
];

fn each_read(collected: &mut Collected, stamp: impl Fn(u64, u64) -> u64) {
    for trace in &mut collected.traces {
        let sent_ns = trace.sent_ns;
        for read in &mut trace.reads {
            read.at_ns = stamp(read.at_ns, sent_ns);
        }
    }
}

fn recount(collected: &mut Collected, counts: impl Fn(EventKind) -> bool) {
    for trace in &mut collected.traces {
        let mut tokens = 0;
        for event in &mut trace.events {
            tokens += u32::from(counts(event.kind));
            event.tokens = tokens;
        }
    }
}

fn each_event_kind(collected: &mut Collected, from: EventKind, to: EventKind) {
    let events = collected.traces.iter_mut().flat_map(|trace| &mut trace.events);
    events.filter(|event| event.kind == from).for_each(|event| event.kind = to);
}

fn ends(collected: &mut Collected, becomes_ok: impl Fn(&End) -> bool) {
    let traces = collected.traces.iter_mut();
    traces.filter(|trace| becomes_ok(&trace.end)).for_each(|trace| trace.end = End::Ok);
}

/// Every trace gets the times of the first, moved to its own sending.
fn level(collected: &mut Collected) {
    let Some(Trace { sent_ns: first_sent, reads: model, .. }) = collected.traces.first().cloned()
    else {
        return;
    };
    for trace in &mut collected.traces {
        for (read, like) in trace.reads.iter_mut().zip(&model) {
            read.at_ns = trace.sent_ns + like.at_ns.saturating_sub(first_sent);
        }
    }
}
