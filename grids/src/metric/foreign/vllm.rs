//! vLLM's `bench serve` (0.25.0 to 0.32.0: `vllm/benchmarks/serve.py`, `lib/endpoint_request_func.py`).
//!
//! TTFT is the first message with a choice in it, a role or an empty text included; ITL is one sample for each later message with a
//! choice, however many tokens it brought; E2EL ends at the last such message; TPOT is (E2EL - TTFT) / (n - 1). A stream that ends
//! in an error event counts as a success once one choice came.

use crate::load::trace::{End, Trace};
use crate::metric::foreign::{Series, came_whole};
use crate::metric::ms;
use crate::metric::stream::{has_choice, times, tokens};

fn messages(trace: &Trace) -> Option<Vec<u64>> {
    let succeeded = came_whole(trace) || matches!(trace.end, End::Error(_));
    times(trace, has_choice).filter(|times| succeeded && !times.is_empty())
}

/// Its TTFT, ITL, TPOT and E2EL.
pub fn series(traces: &[Trace]) -> Vec<Series> {
    let (mut ttft, mut itl, mut tpot, mut e2el) = (vec![], vec![], vec![], vec![]);
    for trace in traces {
        let Some(times) = messages(trace) else { continue };
        let since_sent = |at: u64| ms(at.saturating_sub(trace.sent_ns));
        let (first, last) = (since_sent(times[0]), since_sent(times[times.len() - 1]));
        ttft.push(first);
        e2el.push(last);
        itl.extend(times.windows(2).map(|pair| ms(pair[1].saturating_sub(pair[0]))));
        if tokens(trace) > 1 {
            tpot.push((last - first) / f64::from(tokens(trace) - 1));
        }
    }
    vec![
        Series::even("vllm.ttft", ttft),
        Series::even("vllm.itl", itl),
        Series::even("vllm.tpot", tpot),
        Series::even("vllm.e2el", e2el),
    ]
}
