//! Everything that is reported of one leg: one load at one cell.

use serde::{Deserialize, Serialize};

use crate::load::trace::{End, Trace};
use crate::metric::concurrency::{Achieved, in_flight};
use crate::metric::distribution::{Adjusted, Distribution, PERCENTILES, adjusted};
use crate::metric::ends::Ends;
use crate::metric::foreign;
use crate::metric::goodput::{Goodput, Objectives, goodput};
use crate::metric::latency::{Latency, gaps, gaps_per_token};
use crate::metric::ms;
use crate::metric::stream::arrivals;
use crate::metric::throughput::Throughput;
use crate::metric::window::Window;

/// What the plan says of a leg.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Planned {
    /// Requests in flight; `None` in an open loop without a bound.
    pub concurrency: Option<u32>,
    /// A stretch of the clock to count in.
    pub window: Option<Window>,
    /// What a request has to meet.
    pub objectives: Objectives,
}

/// Latencies over the requests that ended well, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latencies {
    /// Sent minus intended.
    pub lag: Option<Distribution>,
    /// First byte since sent.
    pub ttft_byte: Option<Distribution>,
    /// First event since sent.
    pub ttft_event: Option<Distribution>,
    /// First content since sent.
    pub ttft_content: Option<Distribution>,
    /// First token since sent.
    pub ttft_token: Option<Distribution>,
    /// First token since intended.
    pub ttft_intended: Option<Distribution>,
    /// (last - first) / (n - 1) of each request.
    pub tpot: Option<Distribution>,
    /// Gaps between events with tokens, pooled.
    pub itl_gap: Option<Distribution>,
    /// Gaps shared by their tokens, pooled.
    pub itl_token: Option<Distribution>,
    /// The longest gap of each request.
    pub stall_max_gap: Option<Distribution>,
    /// Last token since sent.
    pub e2e_last_token: Option<Distribution>,
    /// End of the stream since sent.
    pub e2e_done: Option<Distribution>,
    /// Last token since intended.
    pub e2e_intended: Option<Distribution>,
}

/// One percentile of an alias, as that tool would print it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alias {
    /// The tool and its metric.
    pub name: String,
    /// Its mean.
    pub mean_ms: f64,
    /// Its median.
    pub p50_ms: f64,
    /// Its 99th percentile: without a floor, as that tool has none.
    pub p99_ms: f64,
}

/// A percentile with the failed as infinitely slow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdjustedPercentile {
    /// 0 to 100.
    pub p: f64,
    /// First token since intended.
    pub ttft_intended: Adjusted,
    /// Last token since intended.
    pub e2e_intended: Adjusted,
}

/// A leg.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leg {
    /// How requests ended.
    pub ends: Ends,
    /// Latencies of those that ended well.
    pub latencies: Latencies,
    /// Percentiles over all but those given up by plan.
    pub adjusted: Vec<AdjustedPercentile>,
    /// From the first send to the last end.
    pub full: Option<Throughput>,
    /// While at least 0.95 of the plan was in flight.
    pub steady: Option<Throughput>,
    /// In the window of the plan.
    pub fixed: Option<Throughput>,
    /// In flight.
    pub concurrency: Achieved,
    /// Of all that were sent.
    pub goodput: Option<Goodput>,
    /// What other tools would have printed.
    pub aliases: Vec<Alias>,
}

impl Leg {
    /// Derives all of it.
    pub fn of(traces: &[Trace], planned: &Planned) -> Self {
        let ends = Ends::of(traces);
        let steady = planned.concurrency.and_then(|count| in_flight(traces).steady(count));
        let rates = |window: Option<Window>| window.map(|window| Throughput::of(traces, window));
        Self {
            ends,
            latencies: Latencies::of(traces),
            adjusted: adjusted_percentiles(traces, ends.failed()),
            full: rates(Window::full(traces)),
            steady: rates(steady),
            fixed: rates(planned.window),
            concurrency: Achieved::of(traces, planned.concurrency),
            goodput: goodput(traces, &planned.objectives),
            aliases: foreign::all(traces).iter().filter_map(alias).collect(),
        }
    }
}

impl Latencies {
    /// Over the requests that ended well.
    pub fn of(traces: &[Trace]) -> Self {
        let good: Vec<&Trace> = traces.iter().filter(|trace| trace.end == End::Ok).collect();
        let each: Vec<Latency> = good.iter().map(|trace| Latency::of(trace)).collect();
        let of = |read: fn(&Latency) -> Option<u64>| {
            Distribution::of_requests(each.iter().filter_map(read).map(ms).collect())
        };
        let streams: Vec<_> = good.iter().filter_map(|trace| arrivals(trace)).collect();
        let several = streams.iter().filter(|stream| stream.len() > 1).count();
        let pooled = |values: Vec<f64>| Distribution::of(values, several);
        Self {
            lag: of(|latency| latency.lag_ns),
            ttft_byte: of(|latency| latency.ttft_byte_ns),
            ttft_event: of(|latency| latency.ttft_event_ns),
            ttft_content: of(|latency| latency.ttft_content_ns),
            ttft_token: of(|latency| latency.ttft_token_ns),
            ttft_intended: of(|latency| latency.ttft_intended_ns),
            tpot: Distribution::of_requests(
                each.iter().filter_map(|latency| latency.tpot_ns).map(|ns| ns / 1e6).collect(),
            ),
            itl_gap: pooled(streams.iter().flat_map(|stream| gaps(stream)).map(ms).collect()),
            itl_token: pooled(
                streams
                    .iter()
                    .flat_map(|stream| gaps_per_token(stream))
                    .map(|ns| ns / 1e6)
                    .collect(),
            ),
            stall_max_gap: of(|latency| latency.stall_max_gap_ns),
            e2e_last_token: of(|latency| latency.e2e_last_token_ns),
            e2e_done: of(|latency| latency.e2e_done_ns),
            e2e_intended: of(|latency| latency.e2e_intended_ns),
        }
    }
}

fn adjusted_percentiles(traces: &[Trace], failed: usize) -> Vec<AdjustedPercentile> {
    let good: Vec<Latency> =
        traces.iter().filter(|trace| trace.end == End::Ok).map(Latency::of).collect();
    let ttft: Vec<f64> =
        good.iter().filter_map(|latency| latency.ttft_intended_ns).map(ms).collect();
    let e2e: Vec<f64> = good.iter().filter_map(|latency| latency.e2e_intended_ns).map(ms).collect();
    // One that ended well without a token never reached its first.
    let missing = |values: &[f64]| good.len() - values.len() + failed;
    let of = |p: f64| AdjustedPercentile {
        p,
        ttft_intended: adjusted(&ttft, missing(&ttft), p),
        e2e_intended: adjusted(&e2e, missing(&e2e), p),
    };
    PERCENTILES.into_iter().map(of).collect()
}

fn alias(series: &foreign::Series) -> Option<Alias> {
    Some(Alias {
        name: series.name.to_owned(),
        mean_ms: series.mean()?,
        p50_ms: series.percentile(50.0)?,
        p99_ms: series.percentile(99.0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::fixture::{at_ms, bundled, is_close};

    #[test]
    fn a_leg_of_eight() {
        let mut traces: Vec<Trace> = (0..8).map(|request| Trace { request, ..bundled() }).collect();
        traces[7].end = End::TimedOut;
        let window = Window::new(at_ms(100), at_ms(300));
        let planned = Planned { concurrency: Some(8), window, ..Planned::default() };
        let leg = Leg::of(&traces, &planned);
        assert_eq!((leg.ends.ok, leg.ends.failed(), leg.concurrency.peak), (7, 1, 8));
        let ttft = leg.latencies.ttft_token.unwrap();
        assert_eq!((ttft.n, ttft.at(50.0), ttft.at(90.0)), (7, Some(100.0), None));
        assert_eq!(leg.latencies.itl_gap.unwrap().n, 7 * 15);
        assert!(is_close(leg.fixed.unwrap().output, 7.0 * 5.0 * 4.0 / 0.2));
        assert_eq!(leg.steady.map(|rates| rates.window), Window::new(0, at_ms(701)));
        assert_eq!(leg.adjusted[0].ttft_intended, Adjusted::Ms(100.0));
        assert_eq!(leg.goodput, None, "no objectives");
        let again: Leg =
            serde_json::from_str(&serde_json::to_string(&leg_json()).unwrap()).unwrap();
        assert_eq!(again, leg_json());
    }

    fn leg_json() -> Leg {
        Leg::of(&[bundled()], &Planned::default())
    }

    #[test]
    fn nothing_sent_is_nothing_reported() {
        let leg = Leg::of(&[], &Planned::default());
        assert_eq!((leg.full, leg.concurrency.mean), (None, None));
        assert!(leg.latencies.ttft_token.is_none() && leg.aliases.is_empty());
    }
}
