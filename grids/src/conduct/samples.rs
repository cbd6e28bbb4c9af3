//! What goes on record of each request and of the machine around each leg, from what was kept of the legs as they came.

use std::path::Path;

use records::sampled::{Around, Gpu, GpuSample, Request, Requests, Sampled, Spin};
use serde::Deserialize;

use super::{ConductError, raw};
use crate::clocks::gpu::Recording;
use crate::clocks::spin::SAMPLE;
use crate::clocks::window::Window;
use crate::load::monotonic::SECOND_NS;
use crate::load::trace::{End, Trace};
use crate::metric::latency::Latency;
use crate::metric::seconds;
use crate::series::{Outcomes, Plan};

/// Both files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Request by request.
    pub requests: Requests,
    /// Leg by leg; one whose times were not kept is not in it.
    pub around: Around,
}

/// The part of a leg that they are made of.
#[derive(Debug, Deserialize)]
struct Kept {
    #[serde(default)]
    opened_ns: Option<u64>,
    #[serde(default)]
    closed_ns: Option<u64>,
    start_ns: u64,
    traces: Vec<Trace>,
    window: Window,
}

/// Of every leg of `plan` that was begun. Nothing is said of one of which nothing was kept.
pub fn of(folder: &Path, plan: &Plan, outcomes: &Outcomes) -> Result<Samples, ConductError> {
    let mut samples = Samples::default();
    for leg in &plan.legs {
        let Some(outcome) = outcomes.get(&leg.id).filter(|outcome| outcome.was_begun()) else {
            continue;
        };
        let Some(kept) = raw::read::<Kept>(folder, &leg.id)? else { continue };
        let requests = kept.traces.iter().map(request).collect();
        samples.requests.insert(leg.id.clone(), requests);
        let sampled = sampled(&kept, outcome.at_s);
        samples.around.extend(sampled.map(|sampled| (leg.id.clone(), sampled)));
    }
    Ok(samples)
}

fn request(trace: &Trace) -> Request {
    let latency = Latency::of(trace);
    Request {
        request: trace.request,
        sent_ns: trace.sent_ns,
        ttft_ns: latency.ttft_token_ns,
        tpot_ns: latency.tpot_ns,
        e2e_ns: latency.e2e_last_token_ns,
        prompt_tokens: trace.usage.map(|usage| usage.prompt_tokens),
        output_tokens: trace.usage.map(|usage| usage.completion_tokens),
        end: end(&trace.end).to_owned(),
    }
}

/// The end without what a server said of it, which may be anything.
fn end(end: &End) -> &'static str {
    match end {
        End::Ok => Request::OK,
        End::Truncated => "truncated",
        End::Error(_) => "error",
        End::Http(..) => "http",
        End::Connection(_) => "connection",
        End::TimedOut => "timed-out",
        End::Short => "short",
        End::WrongLength => "wrong-length",
        End::Cancelled => "cancelled",
    }
}

/// The machine around a leg whose window was opened `at_s` seconds into the series; none of one that is without its times.
fn sampled(kept: &Kept, at_s: f64) -> Option<Sampled> {
    let (opened_ns, closed_ns) = (kept.opened_ns?, kept.closed_ns?);
    let began_s = seconds(kept.start_ns.checked_sub(opened_ns)?);
    let closed_s = seconds(closed_ns.checked_sub(opened_ns)?);
    let last = kept.traces.iter().map(|trace| trace.ended_ns).max().unwrap_or(0);
    // The first spin ends where the load begins, whether it was this window's own or the one that closed the window before.
    let until = [began_s, closed_s];
    let spins = kept.window.spins.iter().zip(until).map(|(step_ns, until_s)| Spin {
        until_s,
        each_ms: SAMPLE.as_millis() as u64,
        step_ns: step_ns.clone(),
    });
    Some(Sampled {
        at_s,
        began_s,
        ended_s: began_s + seconds(last),
        spins: spins.collect(),
        gpus: kept.window.gpus.iter().map(|recording| gpu(recording, began_s)).collect(),
    })
}

/// The sampler starts as the load begins, to within the tenth of a second that lies between two of its samples.
fn gpu(recording: &Recording, began_s: f64) -> Gpu {
    let samples = recording.samples.iter().map(|sample| GpuSample {
        at_s: began_s + sample.at_ns as f64 / SECOND_NS as f64,
        sm_mhz: sample.sm_mhz,
        power_w: sample.power_mw.map(|milliwatts| f64::from(milliwatts) / 1e3),
        busy_percent: sample.busy_percent,
    });
    let card = &recording.card;
    Gpu { index: card.index, name: card.name.clone(), samples: samples.collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::metric::fixture::bundled;

    /// The fixture: 100 ms to the first token, 64 tokens in 16 events of four, 40 ms apart: the last comes 700 ms after the request, and
    /// 600 ms after the first are 63 gaps of a token.
    #[test]
    fn a_row_is_a_request() {
        let found = request(&bundled());
        assert_eq!((found.ttft_ns, found.e2e_ns), (Some(100_000_000), Some(700_000_000)));
        assert_eq!(found.tpot_ns, Some(600e6 / 63.0));
        assert_eq!((found.output_tokens, found.is_ok()), (Some(64), true));
        let failed = Trace { end: End::Http(500, "said".to_owned()), ..bundled() };
        assert_eq!(request(&failed).end, "http");
    }

    /// A window opened at 5 s of the machine's clock and 60 s of the series: 1.5 s of spins, a load, half a second until it is closed.
    fn kept(opened_ns: Option<u64>) -> Kept {
        let card = json!({
            "index": 0, "uuid": null, "name": "a GPU", "driver": null, "sm_max_mhz": null, "sm_application_mhz": null,
            "persistence": null, "memory_bytes": null,
        });
        let sample = json!({
            "at_ns": 100_000_000, "sm_mhz": 1980, "memory_mhz": null, "reasons": null, "power_mw": 612_500, "energy_mj": null,
            "temperature_c": null, "busy_percent": null, "memory_used_bytes": null, "processes": null,
        });
        let counters = crate::clocks::cpu::Counters::default();
        let window = json!({
            "spins": [[1.5, 1.6], [1.7]], "before": counters, "after": counters, "foreign": null,
            "available_before_kib": null, "available_after_kib": null,
            "gpus": [{ "card": card, "samples": [sample] }],
        });
        Kept {
            opened_ns,
            closed_ns: Some(8_500_000_000),
            start_ns: 6_500_000_000,
            traces: vec![Trace { ended_ns: 1_500_000_000, ..bundled() }],
            window: serde_json::from_value(window).unwrap(),
        }
    }

    #[test]
    fn samples_lie_where_they_were_taken() {
        let found = sampled(&kept(Some(5_000_000_000)), 60.0).unwrap();
        assert_eq!((found.at_s, found.began_s, found.ended_s), (60.0, 1.5, 3.0));
        let ends: Vec<f64> = found.spins.iter().map(|spin| spin.until_s).collect();
        assert_eq!((ends, found.spins[0].each_ms), (vec![1.5, 3.5], 100));
        let sample = found.gpus[0].samples[0];
        assert_eq!((sample.at_s, sample.sm_mhz, sample.power_w), (1.6, Some(1980), Some(612.5)));
        assert_eq!(sample.busy_percent, None, "not told is not zero");
    }

    #[test]
    fn a_leg_without_its_times_has_no_place_in_time() {
        assert_eq!(sampled(&kept(None), 60.0), None);
    }
}
