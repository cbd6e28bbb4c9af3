//! GuideLLM (0.8.1: `guidellm/schemas/base/request_stats.py`, `statistics.py`, `benchmark/schemas/metrics.py`).
//!
//! Its TPOT is (last token - start) / n, so that it holds the TTFT, weighted by n; its ITL is (last - first) / (n - 1), one number a
//! request, weighted by n - 1. Percentiles are read off the weighted cumulative distribution without interpolation.

use crate::load::trace::Trace;
use crate::metric::foreign::{Percentiles, Series, came_whole};
use crate::metric::ms;
use crate::metric::stream::{first, is_content, last, tokens};

/// Its TTFT, TPOT and ITL.
pub fn series(traces: &[Trace]) -> Vec<Series> {
    let (mut ttft, mut tpot, mut itl) = (vec![], vec![], vec![]);
    for trace in traces.iter().filter(|trace| came_whole(trace)) {
        let ends = (first(trace, is_content), last(trace, is_content));
        let (Some(first), Some(last)) = ends else { continue };
        let n = f64::from(tokens(trace));
        ttft.push((ms(first.saturating_sub(trace.sent_ns)), 1.0));
        if n > 0.0 {
            tpot.push((ms(last.saturating_sub(trace.sent_ns)) / n, n));
        }
        if n > 1.0 {
            itl.push((ms(last.saturating_sub(first)) / (n - 1.0), n - 1.0));
        }
    }
    let weighted = |name, samples| Series { name, samples, percentiles: Percentiles::WeightedLeft };
    vec![
        weighted("guidellm.ttft", ttft),
        weighted("guidellm.tpot", tpot),
        weighted("guidellm.itl", itl),
    ]
}
