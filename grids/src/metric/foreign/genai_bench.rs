//! genai-bench (0.0.5: `genai_bench/metrics/request_metrics_collector.py`, `aggregated_metrics_collector.py`).
//!
//! The output latency is E2E - TTFT with E2E to the end of the stream; TPOT is it / (n - 1); output speed (n - 1) / it. A request
//! whose output latency is below a millisecond loses its TPOT, silently.

use crate::load::trace::Trace;
use crate::metric::foreign::{Series, came_whole};
use crate::metric::ms;
use crate::metric::stream::{first, is_content, tokens};

/// Its TTFT, output latency and TPOT.
pub fn series(traces: &[Trace]) -> Vec<Series> {
    let (mut ttft, mut output, mut tpot) = (vec![], vec![], vec![]);
    for trace in traces.iter().filter(|trace| came_whole(trace)) {
        let Some(first) = first(trace, is_content) else { continue };
        let decode = ms(trace.ended_ns.saturating_sub(first));
        ttft.push(ms(first.saturating_sub(trace.sent_ns)));
        output.push(decode);
        if tokens(trace) > 1 && decode >= 1.0 {
            tpot.push(decode / f64::from(tokens(trace) - 1));
        }
    }
    vec![
        Series::even("genai-bench.ttft", ttft),
        Series::even("genai-bench.output-latency", output),
        Series::even("genai-bench.tpot", tpot),
    ]
}
