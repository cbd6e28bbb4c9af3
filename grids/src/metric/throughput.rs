//! Rates inside a window: of requests that ended well in it, and of tokens stamped in it.
//!
//! An output token counts when the read that brought it lies in the window. A prompt counts, whole, when its first output token does:
//! that is when the server has read it. Requests that failed bring no tokens, but their time stays in the window.

use serde::{Deserialize, Serialize};

use crate::load::trace::{End, Trace};
use crate::metric::seconds;
use crate::metric::stream::arrivals;
use crate::metric::window::Window;

/// Rates, per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throughput {
    /// Where they were counted.
    pub window: Window,
    /// Requests that ended well inside, per second.
    pub requests: f64,
    /// Prompt tokens, per second.
    pub input: f64,
    /// Output tokens, per second.
    pub output: f64,
    /// Prompt and output tokens, per second. Not a decode rate.
    pub total: f64,
}

impl Throughput {
    /// Counts in a window.
    pub fn of(traces: &[Trace], window: Window) -> Self {
        let (mut requests, mut input, mut output) = (0_u64, 0_u64, 0_u64);
        for trace in traces.iter().filter(|trace| trace.end == End::Ok) {
            requests += u64::from(window.holds(trace.ended_ns));
            let all = arrivals(trace).unwrap_or_default();
            if all.first().is_some_and(|first| window.holds(first.at_ns)) {
                input += u64::from(trace.prompt_tokens);
            }
            let inside = all.iter().filter(|arrival| window.holds(arrival.at_ns));
            output += inside.map(|arrival| u64::from(arrival.tokens)).sum::<u64>();
        }
        let rate = |count: u64| count as f64 / seconds(window.length_ns());
        Self {
            window,
            requests: rate(requests),
            input: rate(input),
            output: rate(output),
            total: rate(input + output),
        }
    }
}

/// The most output tokens that came within any stretch of `width_ns` that starts with a token, per second; `None` where the run is
/// shorter than that. A maximum over sliding stretches cannot be below the mean; one over buckets of chunks can
/// (vllm-project/vllm#37666).
pub fn peak_output(traces: &[Trace], width_ns: u64) -> Option<f64> {
    let window = Window::full(traces)?;
    if window.length_ns() < width_ns || width_ns == 0 {
        return None;
    }
    let whole = traces.iter().filter(|trace| trace.end == End::Ok);
    let mut all: Vec<_> = whole.filter_map(arrivals).flatten().collect();
    all.sort_unstable_by_key(|arrival| arrival.at_ns);
    let (mut most, mut inside, mut oldest) = (0_u64, 0_u64, 0);
    for arrival in &all {
        inside += u64::from(arrival.tokens);
        while arrival.at_ns - all[oldest].at_ns >= width_ns {
            inside -= u64::from(all[oldest].tokens);
            oldest += 1;
        }
        most = most.max(inside);
    }
    Some(most as f64 / seconds(width_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::fixture::{Stream, at_ms, is_close};

    fn two() -> [Trace; 2] {
        [
            Stream::sent(0).chunks(at_ms(100), at_ms(100), 5, 2).done(at_ms(500)),
            Stream::sent(at_ms(200)).chunks(at_ms(400), at_ms(200), 4, 1).done(at_ms(1_000)),
        ]
    }

    /// Ten tokens at 100..500 and four at 400..1,000; prompts of 8. In [300, 600): 3 x 2 and one; one request ends, one prompt.
    #[test]
    fn counts_by_hand() {
        let found = Throughput::of(&two(), Window::new(at_ms(300), at_ms(600)).unwrap());
        for (found, expected) in [
            (found.requests, 1.0 / 0.3),
            (found.input, 8.0 / 0.3),
            (found.output, 7.0 / 0.3),
            (found.total, 15.0 / 0.3),
        ] {
            assert!(is_close(found, expected), "{found} is not {expected}");
        }
        let full = Throughput::of(&two(), Window::full(&two()).unwrap());
        assert!((full.output - 14.0).abs() < 1e-6 && (full.requests - 2.0).abs() < 1e-6);
    }

    #[test]
    fn the_time_of_the_failed_stays_and_their_tokens_do_not() {
        let [first, mut second] = two();
        second.end = End::Truncated;
        let traces = [first, second];
        let full = Throughput::of(&traces, Window::full(&traces).unwrap());
        assert!((full.output - 10.0).abs() < 1e-6, "{}", full.output);
    }

    /// In [300, 500): 300, 400, 400, and not 500: 2 + 2 + 1 = 5 in 0.2 s; in [400, 600): 2 + 1 + 2 = 5.
    #[test]
    fn the_peak_slides() {
        assert!(is_close(peak_output(&two(), at_ms(200)).unwrap(), 25.0));
        assert_eq!(peak_output(&two(), at_ms(2_000)), None);
        assert_eq!(peak_output(&[], at_ms(1)), None);
    }
}
