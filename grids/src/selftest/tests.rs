//! The client's parsing and the judge, without a clock: the mock's scripts are fed to answers as if they had come on time.

use std::sync::atomic::AtomicBool;

use super::case::{CASES, Case, PACE};
use super::collect::{Collected, collect, requests};
use super::fault::FAULTS;
use super::judge::{ends_and_counts, judge};
use crate::load::answer::{Answer, Progress};
use crate::load::run::Output;
use crate::load::stream;
use crate::load::trace::Trace;
use crate::mock::Mode;
use crate::mock::ask::{Asked, read};
use crate::mock::render::{render, write_bytes};
use crate::mock::script::{Part, script};

const ADDRESS: &str = "127.0.0.1:1";

/// One request whose answer comes exactly when its script says.
fn ideal(case: &Case, index: u32) -> (Trace, Option<Box<stream::Output>>) {
    let request = &requests(case, ADDRESS.parse().unwrap())[index as usize];
    let Asked::Completion(ask) = read(&request.bytes) else { panic!("a completion is asked for") };
    let sent_ns = u64::from(index) * 5_000_000;
    let mut answer = Answer::new(request, index, sent_ns, sent_ns, true);
    if case.mode == Mode::ConnectionLimit && index >= 4 {
        return answer.broken(sent_ns, "refused".to_owned());
    }
    let steps = script(case.mode, PACE, &ask);
    for step in &steps {
        let at_ns = sent_ns + step.at_ns;
        if case.cancel_after_ns.is_some_and(|after| step.at_ns > after) {
            return answer.cancelled(at_ns);
        }
        match step.part {
            Part::Reset => return answer.broken(at_ns, "reset".to_owned()),
            Part::Close => return answer.closed(at_ns),
            _ => {}
        }
        let mut bytes = Vec::new();
        render(case.mode, &ask, step.part, &mut bytes);
        for part in bytes.chunks(write_bytes(case.mode).unwrap_or(usize::MAX)) {
            match answer.read(at_ns, part) {
                Ok(Progress::Going) => {}
                Ok(Progress::Ended { is_reusable }) => {
                    assert!(is_reusable, "{}", case.name);
                    return answer.ended(at_ns);
                }
                Err(message) => return answer.broken(at_ns, message),
            }
        }
    }
    answer.timed_out(sent_ns + case.deadline_ns)
}

fn ideals(case: &Case) -> Collected {
    let (mut traces, mut outputs) = (Vec::new(), Vec::new());
    for request in 0..case.requests {
        let (trace, said) = ideal(case, request);
        traces.push(trace);
        outputs.extend(said.map(|said| Output { request, said: *said }));
    }
    let is_refused = case.mode == Mode::ConnectionLimit;
    let completed = if is_refused { 4 } else { u64::from(case.requests) };
    Collected { sent: traces.len(), traces, outputs, completed, mock_late_ns: 0 }
}

#[test]
fn an_ideal_client_is_within_bounds_in_every_mode() {
    for case in CASES {
        assert_eq!(judge(case, &ideals(case)), Vec::<String>::new(), "{}", case.name);
    }
}

#[test]
fn every_mode_has_a_case() {
    for mode in Mode::all() {
        assert!(CASES.iter().any(|case| case.mode == *mode), "{mode:?}");
    }
    let mut names: Vec<_> = CASES.iter().map(|case| case.name).collect();
    names.dedup();
    assert_eq!(names.len(), CASES.len());
}

/// Every planted lie is found, and found by the cases that are about it.
#[test]
fn every_planted_lie_is_found() {
    let about: &[(&str, &[&str])] = &[
        ("late-stamp", &["constant", "stall"]),
        ("late-send", &["constant"]),
        ("batched-stamps", &["constant", "bundled"]),
        ("slow-clock", &["constant"]),
        ("slot-smoothed", &["slot"]),
        ("lost-event", &["constant", "reset"]),
        ("event-is-token", &["bundled", "first-bundled"]),
        ("role-is-token", &["role-first", "empty-first"]),
        ("comment-is-event", &["pings"]),
        ("error-is-success", &["error-event", "error-body"]),
        ("cut-is-success", &["truncated", "reset"]),
        ("short-is-success", &["early-eos"]),
        ("counts-unchecked", &["wrong-usage"]),
        ("usage-ignored", &["usage-last", "usage-running"]),
        ("lost-request", &["constant", "silent"]),
        ("two-ends", &["constant"]),
        ("garbled-text", &["split-utf8"]),
    ];
    assert_eq!(about.len(), FAULTS.len());
    for fault in FAULTS {
        let (_, cases) = about.iter().find(|(name, _)| *name == fault.name).unwrap();
        for name in *cases {
            let case = CASES.iter().find(|case| case.name == *name).unwrap();
            let mut collected = ideals(case);
            (fault.plant)(&mut collected);
            assert_ne!(judge(case, &collected), Vec::<String>::new(), "{} in {name}", fault.name);
        }
    }
}

/// Real sockets: ends, events, tokens and texts of every mode. Times are for `grid selftest`, not for a test.
#[test]
fn every_mode_ends_over_sockets_as_it_should() {
    std::thread::scope(|scope| {
        for case in CASES {
            scope.spawn(|| {
                let collected = collect(case, &AtomicBool::new(false)).unwrap();
                let findings = ends_and_counts(case, &collected);
                assert_eq!(findings, Vec::<String>::new(), "{}", case.name);
            });
        }
    });
}

/// An interrupt ends every request that is under way, and each has one end.
#[test]
fn an_interrupt_keeps_what_came() {
    let stop = AtomicBool::new(false);
    let case = CASES.iter().find(|case| case.mode == Mode::Silent).unwrap();
    let case = Case { deadline_ns: u64::MAX / 4, ..*case };
    let collected = std::thread::scope(|scope| {
        let running = scope.spawn(|| collect(&case, &stop));
        std::thread::sleep(std::time::Duration::from_millis(200));
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
        running.join().unwrap().unwrap()
    });
    assert_eq!((collected.sent, collected.traces.len()), (8, 8));
    assert!(collected.traces.iter().all(|t| t.end == crate::load::trace::End::Cancelled));
}
