//! inference-perf (7de5ef2e: `inference_perf/reportgen/base.py`).
//!
//! Every token of a chunk bears the chunk's time: a chunk of k tokens gives k - 1 gaps of 0 and one whole gap, and the first chunk
//! k - 1 zeros. TPOT is (last token - first token) / (n - 1), NTPOT (end - start) / n. A request with one token time has no TTFT.

use crate::load::trace::Trace;
use crate::metric::foreign::{Series, came_whole};
use crate::metric::ms;
use crate::metric::stream::{arrivals, tokens};

/// Its TTFT, ITL, TPOT, NTPOT and request latency.
pub fn series(traces: &[Trace]) -> Vec<Series> {
    let (mut ttft, mut itl, mut tpot, mut ntpot, mut latency) =
        (vec![], vec![], vec![], vec![], vec![]);
    for trace in traces.iter().filter(|trace| came_whole(trace)) {
        let whole = ms(trace.ended_ns.saturating_sub(trace.sent_ns));
        latency.push(whole);
        if tokens(trace) > 0 {
            ntpot.push(whole / f64::from(tokens(trace)));
        }
        let times: Vec<u64> = arrivals(trace)
            .unwrap_or_default()
            .iter()
            .flat_map(|arrival| std::iter::repeat_n(arrival.at_ns, arrival.tokens as usize))
            .collect();
        let [first, .., last] = times[..] else { continue };
        ttft.push(ms(first.saturating_sub(trace.sent_ns)));
        itl.extend(times.windows(2).map(|pair| ms(pair[1] - pair[0])));
        if tokens(trace) > 1 {
            tpot.push(ms(last - first) / f64::from(tokens(trace) - 1));
        }
    }
    vec![
        Series::even("inference-perf.ttft", ttft),
        Series::even("inference-perf.itl", itl),
        Series::even("inference-perf.tpot", tpot),
        Series::even("inference-perf.ntpot", ntpot),
        Series::even("inference-perf.request-latency", latency),
    ]
}
