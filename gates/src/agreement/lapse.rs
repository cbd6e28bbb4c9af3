//! Whether a record speaks of the present.

use records::gap::Present;
use records::gap::moved::{definition_moved, pin_moved};
use records::gap::takes_back;
use records::record::{OracleSource, Record};
use serde_json::Value;

/// All reasons for which `record` does not speak of the present, on weights that are pinned to this digest.
pub(super) fn lapses(
    record: &Record,
    pinned: Option<&String>,
    present: &Present,
) -> Vec<&'static str> {
    let said = |key: &str| record.subject.info.get(key).and_then(Value::as_str);
    let on = record.checkpoint.as_ref().map(|used| &used.sha256);
    let reasons = [
        (said("compared_with") == Some("--oracle"), "the oracle was named by hand"),
        (said("found_by") == Some("--plumb"), "the engine was named by hand"),
        (record.subject.source_sha256 != present.source_sha256, "the engine's sources moved"),
        (present.specs.get(&record.gate) != Some(&record.spec_sha256), "the spec moved"),
        (present.inputs.get(&record.gate) != record.inputs_sha256.as_ref(), "the inputs moved"),
        (pinned.is_none() || on != pinned, "the weights are not the pinned ones"),
        (golden_moved(record, present), "the golden moved"),
        (
            pin_moved(record, present) || definition_moved(record, present),
            "the oracle is pinned or defined otherwise now",
        ),
        (record.evidence.is_empty(), "it keeps no evidence"),
    ];
    reasons.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason).collect()
}

/// Whether `by` takes `record` back, and speaks of the present itself.
pub(super) fn supersedes(by: &Record, record: &Record, present: &Present) -> bool {
    let pinned = by.checkpoint.as_ref().and_then(|used| present.checkpoints.get(&used.name));
    takes_back(by, record) && lapses(by, pinned, present).is_empty()
}

/// A record that was judged by a golden names it.
fn golden_moved(record: &Record, present: &Present) -> bool {
    let kept = present.goldens.get(&record.gate);
    record.oracle.as_ref().is_some_and(|oracle| match &oracle.golden_sha256 {
        Some(named) => kept != Some(named),
        None => oracle.source == OracleSource::Golden,
    })
}
