//! SGLang's `bench_serving` (0.5.23: `sglang/benchmark/serving.py`).
//!
//! Its native path shares a chunk's gap among its new tokens; its OpenAI path gives one sample a chunk. TTFT is the first event with
//! text; the latency ends with the last data of the stream, `[DONE]` included, and so does its TPOT. Where the server tells no usage,
//! n is the length that was asked for, whatever came.

use crate::load::trace::Trace;
use crate::metric::foreign::{Series, came_whole};
use crate::metric::latency::gaps_per_token;
use crate::metric::ms;
use crate::metric::stream::{arrivals, first, is_content, is_data, last, times};

fn counted(trace: &Trace) -> u32 {
    trace.usage.map_or(trace.output_tokens, |usage| usage.completion_tokens)
}

/// Its TTFT, both ITLs, TPOT and E2E latency.
pub fn series(traces: &[Trace]) -> Vec<Series> {
    let (mut ttft, mut native, mut openai, mut tpot, mut e2e) =
        (vec![], vec![], vec![], vec![], vec![]);
    for trace in traces.iter().filter(|trace| came_whole(trace)) {
        let since_sent = |at: Option<u64>| at?.checked_sub(trace.sent_ns).map(ms);
        let (first, last) =
            (since_sent(first(trace, is_content)), since_sent(last(trace, is_data)));
        ttft.extend(first);
        e2e.extend(last);
        if let (Some(first), Some(last), 2..) = (first, last, counted(trace)) {
            tpot.push((last - first) / f64::from(counted(trace) - 1));
        }
        let all = arrivals(trace).unwrap_or_default();
        native.extend(gaps_per_token(&all).into_iter().map(|ns| ns / 1e6));
        // The OpenAI path counts chunks with text, which need not be those that brought tokens.
        let chunks = times(trace, is_content).unwrap_or_default();
        openai.extend(chunks.windows(2).map(|pair| ms(pair[1].saturating_sub(pair[0]))));
    }
    vec![
        Series::even("sglang.ttft", ttft),
        Series::even("sglang.itl", native),
        Series::even("sglang.itl.openai", openai),
        Series::even("sglang.tpot", tpot),
        Series::even("sglang.e2e", e2e),
    ]
}
