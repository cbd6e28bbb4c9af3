//! genai-perf, AIPerf's forerunner (triton-inference-server/perf_analyzer, `genai_perf/profile_data_parser/llm_profile_data_parser.py`):
//! for a chunk of k tokens after a gap g one sample, g / k.

use crate::load::trace::Trace;
use crate::metric::foreign::{Series, came_whole};
use crate::metric::latency::gaps;
use crate::metric::stream::arrivals;

/// Its ITL.
pub fn series(traces: &[Trace]) -> Vec<Series> {
    let mut itl = Vec::new();
    for trace in traces.iter().filter(|trace| came_whole(trace)) {
        let all = arrivals(trace).unwrap_or_default();
        let chunks = gaps(&all).into_iter().zip(all.iter().skip(1));
        itl.extend(chunks.map(|(gap, arrival)| gap as f64 / 1e6 / f64::from(arrival.tokens)));
    }
    vec![Series::even("genai-perf.itl", itl)]
}
