//! What a record says beside its verdict that follows from its evidence: pure functions of the spec and the facts. A run writes
//! what they give, and [`crate::recheck`] derives it again.

use oracles::verbs::Identity;
use records::metric::{Measurement, Metric, Statistic};
use records::record::{CheckpointRef, OracleRef, Subject};
use serde_json::Value;

use crate::facts::{Facts, Prepared};
use crate::judge::Judgement;
use crate::kind;
use crate::spec::Spec;
use crate::subject::Info;

/// What a record says where nothing was computed with floats.
const NO_PROFILE: &str = "none";

/// The fields of a record that say who was judged by whom on what, under the names that they have there.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// The gate.
    pub gate: String,
    /// The kinds that judged.
    pub kinds: Vec<String>,
    /// What was judged.
    pub subject: Subject,
    /// Who answered.
    pub oracle: Option<OracleRef>,
    /// On what.
    pub checkpoint: Option<CheckpointRef>,
    /// SHA-256 of the inputs.
    pub inputs_sha256: Option<String>,
    /// The program that judged.
    pub harness_sha256: Option<String>,
}

impl Derived {
    /// Derives the fields.
    pub fn of(spec: &Spec, facts: &Facts, prepared: &Prepared) -> Self {
        Self {
            gate: facts.gate.clone(),
            kinds: kind::names(spec).into_iter().map(str::to_owned).collect(),
            subject: subject(spec, facts, prepared),
            oracle: oracle(facts, prepared),
            checkpoint: facts.checkpoint.as_ref().map(|given| CheckpointRef {
                name: given.name.clone(),
                sha256: given.sha256.clone(),
            }),
            inputs_sha256: prepared.inputs_sha256.clone(),
            harness_sha256: facts.harness.as_ref().and_then(|build| build.embedded.clone()),
        }
    }
}

/// The engine, or the oracle where that is judged: nothing of the engine is in such a record.
fn subject(spec: &Spec, facts: &Facts, prepared: &Prepared) -> Subject {
    let mut subject = match &facts.answered_by {
        Some(identity) if !spec.asks_engine() => oracle_as_subject(spec, identity),
        _ => engine(facts.loaded.as_ref().unwrap_or(&prepared.info), prepared),
    };
    // Another oracle than the spec's: such a record decides no track.
    if facts.oracle.as_ref().is_some_and(|oracle| spec.oracle.as_ref() != Some(&oracle.name)) {
        insert(&mut subject.info, "compared_with", "--oracle");
    }
    subject
}

/// What the engine said, and how its binary was found.
fn engine(info: &Info, prepared: &Prepared) -> Subject {
    let mut value = info.value.clone();
    insert(&mut value, "found_by", prepared.found_by.as_str());
    Subject {
        name: "plumb".to_owned(),
        version: info.version.clone(),
        commit: info.commit.clone(),
        source_sha256: info.source_sha256.clone(),
        binary_sha256: prepared.binary_sha256.clone(),
        profile: info.profile.clone().unwrap_or_else(|| NO_PROFILE.to_owned()),
        threads: info.threads,
        info: value,
    }
}

fn oracle_as_subject(spec: &Spec, identity: &Identity) -> Subject {
    Subject {
        name: identity.name.clone(),
        version: identity.version.clone(),
        commit: identity.build.get("commit").cloned(),
        source_sha256: identity.source_sha256.clone(),
        binary_sha256: identity.binary_sha256.clone(),
        profile: NO_PROFILE.to_owned(),
        threads: spec.launch.threads,
        // Strings, lists and maps of strings: this cannot fail.
        info: serde_json::to_value(identity).unwrap_or_default(),
    }
}

fn insert(info: &mut Value, key: &str, value: &str) {
    if let Value::Object(object) = info {
        object.insert(key.to_owned(), value.into());
    }
}

fn oracle(facts: &Facts, prepared: &Prepared) -> Option<OracleRef> {
    let (identity, answers) = (facts.answered_by.as_ref()?, facts.answers.as_ref()?);
    Some(OracleRef {
        name: identity.name.clone(),
        source: answers.source,
        captured_at: answers.captured_at.as_deref().and_then(|text| text.parse().ok()),
        golden_sha256: answers.golden_sha256.clone(),
        definition_sha256: prepared.definition_sha256.clone(),
        // Strings, lists and maps of strings: this cannot fail.
        identity: serde_json::to_value(identity).unwrap_or_default(),
    })
}

/// The numbers of the judgement, and beside them the oracle's own noise where its golden has it measured.
pub fn measurements(judgement: &Judgement, facts: &Facts) -> Vec<Measurement> {
    let mut all = judgement.measurements.clone();
    // It stands beside a comparison of ours, or nowhere.
    if let Some(noise) = facts.noise.as_ref().filter(|noise| noise.steps > 0 && !all.is_empty()) {
        let largest = Some(noise.logprob_difference_max_mnats).filter(|value| value.is_finite());
        let n = if largest.is_some() { noise.steps } else { 0 };
        all.push(Measurement::new(Metric::OracleNoiseMnats, Statistic::Max, n, largest));
        all.push(Measurement::count(Metric::OracleFlips, noise.ids_differ));
    }
    all
}
