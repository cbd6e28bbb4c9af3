//! The record of a run, put together from what is known about it.

use std::time::Duration;

use records::Timestamp;
use records::machine::Machine;
use records::metric::{Measurement, Metric, Statistic};
use records::record::{CheckpointRef, OracleRef, Record, SCHEMA_VERSION, Subject, Verdict};
use serde_json::Value;

use crate::bench::{Bench, Circumstances, ReferenceInfo};
use crate::judge::Judgement;
use crate::kind;
use crate::run::Destination;

/// What a record says where nothing was computed with floats.
const NO_PROFILE: &str = "none";

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
    clock: Clock,
) -> Record {
    Record {
        schema_version: SCHEMA_VERSION,
        id: String::new(),
        gate: bench.gate.name.clone(),
        kinds: kind::names(&bench.gate.spec).into_iter().map(str::to_owned).collect(),
        spec_sha256: bench.gate.sha256.clone(),
        started_at: clock.started_at,
        duration_ms: clock.duration.as_millis() as u64,
        subject: match &circumstances.reference {
            Some(reference) if !bench.gate.spec.asks_engine() => {
                oracle_as_subject(bench, reference)
            }
            _ => subject(bench, circumstances),
        },
        oracle: circumstances
            .reference
            .as_ref()
            .map(|reference| oracle(bench, destination, reference)),
        checkpoint: circumstances.checkpoint.as_ref().map(|checkpoint| CheckpointRef {
            name: checkpoint.name.clone(),
            sha256: checkpoint.sha256.clone(),
        }),
        inputs_sha256: bench
            .workload
            .map(|workload| workload.sha256.clone())
            .or_else(|| bench.regressions.map(|list| list.sha256.clone())),
        harness_sha256: crate::HARNESS_SHA256.map(str::to_owned),
        machine: clock.machine,
        verdict: Verdict {
            word: judgement.word,
            rules: judgement.rules.iter().map(|rule| rule.id().to_owned()).collect(),
            reason: judgement.reason.clone(),
        },
        compared: judgement.compared,
        measurements: measurements(judgement, circumstances),
        divergences: judgement.divergences.clone(),
        evidence: Vec::new(),
        reproduce: destination.reproduce.clone(),
        supersedes: destination.supersedes.clone(),
        resumed_answers: bench
            .journal
            .map(|journal| journal.replayed().answers)
            .filter(|answers| *answers > 0),
    }
}

/// What the engine said with the model loaded, else what it said without; and how its binary was found.
fn subject(bench: &Bench<'_>, circumstances: &Circumstances) -> Subject {
    let info = circumstances.facts.loaded.as_ref().unwrap_or(&bench.identity.info);
    let mut value = info.value.clone();
    if let Value::Object(object) = &mut value {
        object.insert("found_by".to_owned(), bench.identity.found_by.as_str().into());
    }
    mark_crossed(bench, &mut value);
    Subject {
        name: "plumb".to_owned(),
        version: info.version.clone(),
        commit: info.commit.clone(),
        source_sha256: info.source_sha256.clone(),
        binary_sha256: bench.identity.binary_sha256.clone(),
        profile: info.profile.clone().unwrap_or_else(|| NO_PROFILE.to_owned()),
        threads: info.threads,
        info: value,
    }
}

/// Says so where the oracle is another one than the spec's: such a record decides no track.
fn mark_crossed(bench: &Bench<'_>, info: &mut Value) {
    if let Value::Object(object) = info
        && bench.is_crossed()
    {
        object.insert("compared_with".to_owned(), "--oracle".into());
    }
}

/// Where an oracle is judged, it is the subject. Nothing of the engine is in such a record, nor how its binary was found.
fn oracle_as_subject(bench: &Bench<'_>, reference: &ReferenceInfo) -> Subject {
    let identity = &reference.identity;
    // Strings, lists and maps of strings: this cannot fail.
    let mut info = serde_json::to_value(identity).unwrap_or_default();
    mark_crossed(bench, &mut info);
    Subject {
        name: identity.name.clone(),
        version: identity.version.clone(),
        commit: identity.build.get("commit").cloned(),
        source_sha256: identity.source_sha256.clone(),
        binary_sha256: identity.binary_sha256.clone(),
        profile: NO_PROFILE.to_owned(),
        threads: bench.gate.spec.launch.threads,
        info,
    }
}

fn oracle(
    bench: &Bench<'_>,
    destination: &Destination<'_>,
    reference: &ReferenceInfo,
) -> OracleRef {
    let definition = bench.oracle.map(|spec| spec.definition_sha256(destination.home));
    OracleRef {
        name: reference.identity.name.clone(),
        source: reference.source,
        captured_at: reference.captured_at.as_deref().and_then(|text| text.parse().ok()),
        golden_sha256: reference.golden_sha256.clone(),
        // One that cannot be read is not named, and a word without it lapses.
        definition_sha256: definition.and_then(Result::ok),
        // Strings, lists and maps of strings: this cannot fail.
        identity: serde_json::to_value(&reference.identity).unwrap_or_default(),
    }
}

fn measurements(judgement: &Judgement, circumstances: &Circumstances) -> Vec<Measurement> {
    let wall = |metric, value: Option<u64>| {
        let n = u64::from(value.is_some());
        Measurement::new(metric, Statistic::Single, n, value.map(|ms| ms as f64))
    };
    let mut all = judgement.measurements.clone();
    let noise = circumstances.reference.as_ref().and_then(|reference| reference.noise.as_ref());
    // It stands beside a comparison of ours, or nowhere.
    if let Some(noise) = noise.filter(|noise| noise.steps > 0 && !all.is_empty()) {
        let largest = Some(noise.logprob_difference_max_mnats).filter(|value| value.is_finite());
        let n = if largest.is_some() { noise.steps } else { 0 };
        all.push(Measurement::new(Metric::OracleNoiseMnats, Statistic::Max, n, largest));
        all.push(Measurement::count(Metric::OracleFlips, noise.ids_differ));
    }
    all.push(wall(Metric::SubjectMs, circumstances.subject_ms));
    all.push(wall(Metric::OracleMs, circumstances.oracle_ms));
    all
}
