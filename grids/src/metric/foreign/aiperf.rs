//! AIPerf (0.13.0: `aiperf/metrics/types/`).
//!
//! ITL is one number a request, unweighted: (latency - TTFT) / (n - 1), or / (n - tokens of the first chunk) where the server tells
//! usage in every chunk (`--per-chunk-usage`). ICL is one sample a chunk. Only responses with content count; the latency ends with
//! the last of them. The effective latency starts when the request was meant to be sent.

use crate::load::trace::Trace;
use crate::metric::foreign::{Series, came_whole};
use crate::metric::ms;
use crate::metric::stream::{arrivals, is_content, times, tokens};

/// Its TTFT, TTST, ITLs, ICL and latencies.
pub fn series(traces: &[Trace]) -> Vec<Series> {
    let (mut ttft, mut ttst, mut itl, mut bundled, mut icl) =
        (vec![], vec![], vec![], vec![], vec![]);
    let (mut latency, mut effective) = (vec![], vec![]);
    for trace in traces.iter().filter(|trace| came_whole(trace)) {
        let times = times(trace, is_content).unwrap_or_default();
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else { continue };
        let decode = ms(last.saturating_sub(first));
        ttft.push(ms(first.saturating_sub(trace.sent_ns)));
        latency.push(ms(last.saturating_sub(trace.sent_ns)));
        effective.push(ms(last.saturating_sub(trace.intended_ns)));
        icl.extend(times.windows(2).map(|pair| ms(pair[1].saturating_sub(pair[0]))));
        ttst.extend(times.get(1).map(|&second| ms(second.saturating_sub(first))));
        if tokens(trace) >= 2 {
            let after =
                |first_chunk: u32| tokens(trace).checked_sub(first_chunk).filter(|&n| n > 0);
            let first_chunk = arrivals(trace).and_then(|all| all.first().map(|chunk| chunk.tokens));
            let without_one = tokens(trace) - 1;
            itl.push(decode / f64::from(without_one));
            // A first chunk that holds the whole answer is taken for one token.
            bundled.push(decode / f64::from(first_chunk.and_then(after).unwrap_or(without_one)));
        }
    }
    vec![
        Series::even("aiperf.ttft", ttft),
        Series::even("aiperf.ttst", ttst),
        Series::even("aiperf.itl", itl),
        Series::even("aiperf.itl.per-chunk-usage", bundled),
        Series::even("aiperf.icl", icl),
        Series::even("aiperf.request-latency", latency),
        Series::even("aiperf.effective-latency", effective),
    ]
}
