//! Metrics: pure functions of traces. What cannot be derived is `None`, never 0.
//!
//! | module | what it derives |
//! |---|---|
//! | [`stream`] | when tokens arrived, from one trace |
//! | [`latency`] | TTFT, TPOT, gaps, stalls, end to end, schedule lag of one request |
//! | [`foreign`] | the same under the names and rules of other tools |
//! | [`concurrency`] | how many requests were really in flight, and the steady window |
//! | [`throughput`] | rates inside a window |
//! | [`goodput`] | requests that met their objectives, of all that were sent |
//! | [`distribution`] | percentiles that say when they have too few samples |
//! | [`ends`] | how many ended how |
//! | [`identity`] | what must hold between them |
//! | [`validity`] | the rules that void a leg |
//! | [`leg`] | all of it for one leg |

pub mod concurrency;
pub mod distribution;
pub mod ends;
pub mod foreign;
pub mod goodput;
pub mod identity;
pub mod latency;
pub mod leg;
pub mod stream;
pub mod throughput;
pub mod validity;
pub mod window;

#[cfg(test)]
pub(crate) mod fixture;

/// Nanoseconds as milliseconds, the unit in which latencies are reported.
pub fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Nanoseconds as seconds, the unit in which rates are reported.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
