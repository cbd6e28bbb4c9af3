//! The record of a run: what follows from its evidence, with when, where and how it came about.

use std::time::Duration;

use records::Timestamp;
use records::machine::Machine;
use records::metric::{Measurement, Metric, Statistic};
use records::record::{Record, SCHEMA_VERSION, Verdict};

use crate::bench::{Bench, Circumstances};
use crate::derived::{self, Derived};
use crate::facts::Prepared;
use crate::judge::Judgement;
use crate::run::Destination;

/// When and where.
pub struct Clock {
    /// The machine before anything was measured.
    pub machine: Machine,
    /// When the record was opened.
    pub started_at: Timestamp,
    /// From then to the verdict.
    pub duration: Duration,
}

/// The record. Its id and evidence are filled in by the store.
pub fn assemble(
    bench: &Bench<'_>,
    destination: &Destination<'_>,
    circumstances: &Circumstances,
    judgement: &Judgement,
    prepared: &Prepared,
    clock: Clock,
) -> Record {
    let facts = &circumstances.facts;
    let derived = Derived::of(&bench.gate.spec, facts, prepared);
    let mut measurements = derived::measurements(judgement, facts);
    measurements.push(wall(Metric::SubjectMs, circumstances.subject_ms));
    measurements.push(wall(Metric::OracleMs, circumstances.oracle_ms));
    Record {
        schema_version: SCHEMA_VERSION,
        id: String::new(),
        gate: bench.gate.name.clone(),
        kinds: derived.kinds,
        spec_sha256: bench.gate.sha256.clone(),
        started_at: clock.started_at,
        duration_ms: clock.duration.as_millis() as u64,
        subject: derived.subject,
        oracle: derived.oracle,
        checkpoint: derived.checkpoint,
        inputs_sha256: derived.inputs_sha256,
        harness_sha256: derived.harness_sha256,
        machine: clock.machine,
        verdict: verdict(judgement),
        compared: judgement.compared,
        measurements,
        divergences: judgement.divergences.clone(),
        evidence: Vec::new(),
        reproduce: destination.reproduce.clone(),
        supersedes: destination.supersedes.clone(),
        resumed_answers: bench
            .journal
            .map(|journal| journal.replayed().answers)
            .filter(|answers| *answers > 0),
        series: None,
    }
}

fn verdict(judgement: &Judgement) -> Verdict {
    Verdict {
        word: judgement.word,
        rules: judgement.rules.iter().map(|rule| rule.id().to_owned()).collect(),
        reason: judgement.reason.clone(),
    }
}

fn wall(metric: Metric, value: Option<u64>) -> Measurement {
    let n = u64::from(value.is_some());
    Measurement::new(metric, Statistic::Single, n, value.map(|ms| ms as f64))
}
