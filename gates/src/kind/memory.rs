//! Kind `memory`: the resident set of the engine's process tree, until its first answer and after it, each within its bound.
//!
//! The first request is answered before the second one begins, so that its answer parts loading from generating. While loading
//! the kernel's own high-water mark counts, which misses no peak; afterwards the samples do. What was not sampled is not zero.

use records::metric::{Measurement, Metric, Statistic};
use serde::{Deserialize, Serialize};

use super::alone::{Exchange, Failure, Findings, broken};
use crate::compare;
use crate::spec::MemoryCheck;
use crate::subject::Resident;

/// The kind's name in specs and records.
pub const NAME: &str = "memory";

/// Longest mean time between two samples, in milliseconds: 10 Hz.
const CADENCE_MS: f64 = 100.0;

/// One watched process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySample {
    /// One request after the other, in one process.
    pub exchange: Exchange,
}

/// What it judges, in words.
pub fn explain(check: &MemoryCheck) -> String {
    format!(
        "the resident set of the engine's process tree, sampled at 10 Hz or more: at most {} bytes until the first request is \
         answered, at most {} bytes after it, because: {}. A phase without a sample establishes nothing",
        check.load_bytes, check.steady_bytes, check.because.0
    )
}

/// Both phases against their bounds.
pub fn judge(check: &MemoryCheck, sample: &MemorySample) -> Findings {
    let watch = &sample.exchange.answer.watch;
    let failures = broken(&sample.exchange);
    let answered = watch.lines_ms.len();
    if !failures.is_empty() {
        return Findings::of(answered.max(1), failures, "nothing was bounded".to_owned());
    }
    let first = watch.lines_ms.first().copied().unwrap_or(f64::NAN);
    let (load, steady): (Vec<&Resident>, Vec<&Resident>) =
        watch.resident.iter().partition(|sample| compare::within(sample.at_ms, first));
    let phases = [
        Phase {
            name: "load",
            metric: Metric::LoadPeakRssBytes,
            peak: load.iter().map(|sample| sample.high_water_bytes).max(),
            samples: load.len(),
            bound: check.load_bytes,
        },
        Phase {
            name: "steady",
            metric: Metric::SteadyPeakRssBytes,
            peak: steady.iter().map(|sample| sample.bytes).max(),
            samples: steady.len(),
            bound: check.steady_bytes,
        },
    ];
    let summary = phases.iter().map(Phase::words).collect::<Vec<_>>().join("; ");
    let mut findings =
        Findings::of(phases.len(), phases.iter().filter_map(Phase::failure).collect(), summary);
    findings.measurements = phases.iter().map(Phase::measurement).collect();
    findings.unseen = unseen(&phases, &watch.resident);
    findings
}

/// One part of the process's life.
struct Phase {
    name: &'static str,
    metric: Metric,
    peak: Option<u64>,
    samples: usize,
    bound: u64,
}

impl Phase {
    /// The peak; zero bytes are a reading that failed.
    fn seen(&self) -> Option<u64> {
        self.peak.filter(|peak| *peak > 0)
    }

    fn words(&self) -> String {
        let peak = self.seen().map_or("unseen".to_owned(), |peak| format!("{peak} bytes"));
        format!("{} {peak} of {} ({} samples)", self.name, self.bound, self.samples)
    }

    fn failure(&self) -> Option<Failure> {
        let peak = self.seen().filter(|peak| *peak > self.bound)?;
        Some(Failure::new(self.name, format!("takes {peak} bytes, {} are allowed", self.bound)))
    }

    fn measurement(&self) -> Measurement {
        let value = self.seen().map(|peak| peak as f64);
        let n = if value.is_some() { self.samples as u64 } else { 0 };
        Measurement::new(self.metric, Statistic::Max, n, value)
    }
}

fn unseen(phases: &[Phase], samples: &[Resident]) -> Option<String> {
    if let Some(phase) = phases.iter().find(|phase| phase.seen().is_none()) {
        return Some(format!("no resident set was sampled in phase {}", phase.name));
    }
    let (first, last) = (samples.first()?, samples.last()?);
    let mean = (last.at_ms - first.at_ms) / (samples.len().max(2) - 1) as f64;
    let slow = !compare::within(mean, CADENCE_MS);
    slow.then(|| {
        format!("a sample was taken each {mean:.0} ms, {CADENCE_MS:.0} ms are the longest")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::alone::exchange;
    use crate::spec::Because;
    use crate::subject::Watch;

    /// Samples at these times, of these bytes; the first answer comes at 100 ms.
    fn judged(samples: &[(f64, u64)]) -> Findings {
        let resident = |(at_ms, bytes): &(f64, u64)| Resident {
            at_ms: *at_ms,
            bytes: *bytes,
            high_water_bytes: bytes * 2,
        };
        let mut exchange = exchange(&["one", "two"]);
        exchange.answer.watch = Watch {
            foreign_percent: None,
            lines_ms: vec![100.0, 200.0],
            resident: samples.iter().map(resident).collect(),
        };
        let because = Because("a test".to_owned());
        let check = MemoryCheck { load_bytes: 200, steady_bytes: 100, because };
        judge(&check, &MemorySample { exchange })
    }

    #[test]
    fn the_high_water_mark_bounds_the_load_and_the_samples_what_follows() {
        let findings = judged(&[(50.0, 100), (110.0, 100)]);
        assert_eq!((findings.failures, findings.unseen), (Vec::new(), None));
        let values: Vec<_> = findings.measurements.iter().map(|peak| peak.value).collect();
        assert_eq!(values, [Some(200.0), Some(100.0)]);
        assert_eq!(judged(&[(50.0, 101), (110.0, 100)]).failures[0].case, "load");
        assert_eq!(judged(&[(50.0, 100), (110.0, 101)]).failures[0].case, "steady");
    }

    #[test]
    fn what_was_not_sampled_is_not_established_and_never_zero() {
        for samples in [&[][..], &[(50.0, 1)], &[(110.0, 1)], &[(50.0, 0), (110.0, 1)]] {
            let findings = judged(samples);
            assert!(findings.unseen.is_some(), "{samples:?}");
            assert!(findings.measurements.iter().all(|peak| peak.value != Some(0.0)));
            findings.measurements.iter().for_each(|peak| assert_eq!(peak.validate(), Ok(())));
        }
        let slow = judged(&[(50.0, 1), (151.0, 1)]).unseen.unwrap();
        assert!(slow.starts_with("a sample was taken each 101 ms"), "{slow}");
    }
}
