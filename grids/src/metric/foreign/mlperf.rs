//! MLPerf Inference's LLM rules: TPOT is (completion - first token) / (tokens - 1), which is our [`Latency::tpot_ns`].

use crate::load::trace::Trace;
use crate::metric::foreign::{Series, came_whole};
use crate::metric::latency::Latency;

/// Its TPOT.
pub fn series(traces: &[Trace]) -> Vec<Series> {
    let whole = traces.iter().filter(|trace| came_whole(trace));
    let tpot = whole.filter_map(|trace| Latency::of(trace).tpot_ns).map(|ns| ns / 1e6);
    vec![Series::even("mlperf.tpot", tpot)]
}
