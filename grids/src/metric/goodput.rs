//! Goodput: requests that met every declared objective, of all that were sent.
//!
//! As in GuideLLM's and SGLang's attainment, a request that failed is a miss; as in GuideLLM's, one whose objective cannot be
//! measured (TPOT of one token) is undetermined and no success. Other tools take its TPOT for 0, which is a pass.

use serde::{Deserialize, Serialize};

use crate::load::trace::{End, Trace};
use crate::metric::latency::Latency;
use crate::metric::window::Window;
use crate::metric::{ms, seconds};

/// The objectives, in milliseconds: at most so long. At least one has to be declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Objectives {
    /// First token since intended.
    pub ttft_ms: Option<f64>,
    /// Time per output token after the first.
    pub tpot_ms: Option<f64>,
    /// The longest gap between tokens.
    pub stall_ms: Option<f64>,
    /// Last token since intended.
    pub e2e_ms: Option<f64>,
}

/// How many met them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goodput {
    /// All that were sent, but for those given up by plan.
    pub sent: u32,
    /// Ended well and met all.
    pub good: u32,
    /// Failed, or missed at least one.
    pub missed: u32,
    /// Ended well, missed none, and at least one could not be measured.
    pub undetermined: u32,
    /// `good / sent`.
    pub attainment: f64,
    /// Good requests per second of the full window.
    pub per_second: f64,
}

/// `None` without objectives or without requests.
pub fn goodput(traces: &[Trace], objectives: &Objectives) -> Option<Goodput> {
    if *objectives == Objectives::default() {
        return None;
    }
    let (mut good, mut missed, mut undetermined) = (0, 0, 0);
    for trace in traces.iter().filter(|trace| trace.end != End::Cancelled) {
        match met(trace, objectives) {
            Some(true) => good += 1,
            Some(false) => missed += 1,
            None => undetermined += 1,
        }
    }
    let sent = good + missed + undetermined;
    let window = Window::full(traces).filter(|_| sent > 0)?;
    Some(Goodput {
        sent,
        good,
        missed,
        undetermined,
        attainment: f64::from(good) / f64::from(sent),
        per_second: f64::from(good) / seconds(window.length_ns()),
    })
}

/// Whether a request met all objectives; `None` when that cannot be told.
fn met(trace: &Trace, objectives: &Objectives) -> Option<bool> {
    if trace.end != End::Ok {
        return Some(false);
    }
    let found = Latency::of(trace);
    let pairs = [
        (objectives.ttft_ms, found.ttft_intended_ns.map(ms)),
        (objectives.tpot_ms, found.tpot_ns.map(|ns| ns / 1e6)),
        (objectives.stall_ms, found.stall_max_gap_ns.map(ms)),
        (objectives.e2e_ms, found.e2e_intended_ns.map(ms)),
    ];
    let declared = pairs.into_iter().filter_map(|(limit, found)| Some((limit?, found)));
    let mut all = Some(true);
    for (limit, found) in declared {
        match found {
            Some(found) if found <= limit => {}
            Some(_) => return Some(false),
            None => all = None,
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::fixture::{Stream, at_ms, is_close};

    #[test]
    fn counts_over_all_that_were_sent() {
        let chunks = |first, gap| Stream::sent(0).chunks(at_ms(first), at_ms(gap), 3, 1);
        let traces = [
            chunks(100, 10).done(at_ms(130)),
            chunks(101, 10).done(at_ms(130)),
            chunks(100, 11).done(at_ms(130)),
            Stream::sent(0).chunks(at_ms(50), 0, 1, 1).done(at_ms(60)),
            chunks(10, 1).ends(at_ms(2_000), End::Truncated),
            chunks(10, 1).ends(at_ms(20), End::Cancelled),
        ];
        let objectives =
            Objectives { ttft_ms: Some(100.0), tpot_ms: Some(10.0), ..Objectives::default() };
        let found = goodput(&traces, &objectives).unwrap();
        assert_eq!((found.sent, found.good, found.missed, found.undetermined), (5, 1, 3, 1));
        assert!(is_close(found.attainment, 0.2) && (found.per_second - 0.5).abs() < 1e-6);
        assert_eq!(goodput(&traces, &Objectives::default()), None);
        assert_eq!(goodput(&[], &objectives), None);
    }

    #[test]
    fn an_objective_that_is_no_number_is_missed() {
        let traces = [Stream::sent(0).chunks(5, 5, 3, 1).done(30)];
        let objectives = Objectives { e2e_ms: Some(f64::NAN), ..Objectives::default() };
        assert_eq!(goodput(&traces, &objectives).map(|found| found.good), Some(0));
    }

    /// A wait for a free slot counts: the plan's time is where the clock starts.
    #[test]
    fn the_wait_counts() {
        let late =
            [Stream::sent(at_ms(90)).intended(0).chunks(at_ms(100), 0, 1, 1).done(at_ms(101))];
        let objectives = Objectives { ttft_ms: Some(50.0), ..Objectives::default() };
        assert_eq!(goodput(&late, &objectives).map(|found| found.missed), Some(1));
    }
}
