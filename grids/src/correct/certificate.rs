//! V-CORRECT: speed of an engine counts only where its gates pass for what was measured.

use std::collections::BTreeMap;

use records::Record;
use records::gap::{self, Present};
use serde::{Deserialize, Serialize};

use crate::rule::{Rule, Violation};
use crate::series::Known;

/// The records that say that an arm's answers are right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// The arm.
    pub arm: String,
    /// By gate, the id of the record in which it passed.
    pub passed: BTreeMap<String, String>,
}

/// Kinds of gates that hold what an engine answers against what another one does, on a checkpoint. What they show is what is
/// measured here: choices of whole answers, or the distributions that they come from.
const SHOWS_ANSWERS: [&str; 3] = ["token-exact", "near-tie", "logits"];

/// Arguments of `plumb serve`, each with a value, that decide when and where a row is computed and never what comes out: no row of a
/// batch depends on another, on how prompts are cut, or on the blocks that keys and values lie in.
const SCHEDULING: [&str; 4] =
    ["--max-num-batched-tokens", "--scheduling-policy", "--block-size", "--kv-cache-memory"];

/// The certificate of an arm by every one of `gates`; the violation names the first that does not show it.
///
/// A gate shows that an arm answers right where
/// - it passes at the present by the very function that the open-gaps page is derived by ([`gap::passing`]), seen from the sources
///   that the arm's binary was built from: same sources, spec, inputs, pinned checkpoint, golden and oracle; a run with a binary or an
///   oracle named by hand does not count, and a FAIL stands until a record supersedes it;
/// - its record is a gate's own and no series', of a kind that compares answers (`SHOWS_ANSWERS`);
/// - the engine ran the same numerics profile, and read the same checkpoint, byte for byte;
/// - the arm adds no argument to its command line but those of `SCHEDULING`: a record was made without any, so that an arm with
///   another switch inherits nothing from it, whatever the switch does.
pub fn certify(
    arm: &str,
    known: &Known,
    gates: &[String],
    records: &[Record],
    present: &Present,
) -> Result<Certificate, Violation> {
    let broken = |reason: String| Violation::new(Rule::Correct, format!("{arm}: {reason}"));
    let (Some(source_sha256), Some(profile)) = (known.source_sha256(), known.profile()) else {
        return Err(broken("it does not say what it is".to_owned()));
    };
    if gates.is_empty() {
        return Err(broken("no gate is named that would show it".to_owned()));
    }
    if let Some(switch) = changes_answers(&known.arguments) {
        let reason = format!("no gate was run with {switch}, which may change what is computed");
        return Err(broken(reason));
    }
    let present = Present { source_sha256: source_sha256.to_owned(), ..present.clone() };
    let mut passed = BTreeMap::new();
    for gate in gates {
        let found = gap::passing(gate, records, &present);
        let record = found.map_err(|why| {
            let sources = source_sha256.get(..12).unwrap_or(source_sha256);
            broken(format!("{gate} does not pass for sources {sources}: {why}"))
        })?;
        if let Some(why) = of_something_else(record, profile, &known.checkpoint_sha256) {
            return Err(broken(format!("{gate}, {}: {why}", record.id)));
        }
        passed.insert(gate.clone(), record.id.clone());
    }
    Ok(Certificate { arm: arm.to_owned(), passed })
}

/// Why a record that passes is about something else than the arm.
fn of_something_else(record: &Record, profile: &str, checkpoint_sha256: &str) -> Option<String> {
    let checkpoint = record.checkpoint.as_ref().map(|checkpoint| checkpoint.sha256.as_str());
    if record.series.is_some() {
        Some("it is the record of a series, which shows speed".to_owned())
    } else if !record.kinds.iter().any(|kind| SHOWS_ANSWERS.contains(&kind.as_str())) {
        Some(format!("{} does not compare answers", record.kinds.join(" and ")))
    } else if record.subject.profile != profile {
        Some(format!("it ran profile {}, the arm runs {profile}", record.subject.profile))
    } else if checkpoint != Some(checkpoint_sha256) {
        Some("it is of another checkpoint".to_owned())
    } else {
        None
    }
}

/// The first argument that is not known to leave the answers as they are. A flag carries its value behind itself or behind `=`.
fn changes_answers(arguments: &[String]) -> Option<&str> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let (flag, value) =
            word.split_once('=').map_or((word.as_str(), None), |(flag, value)| (flag, Some(value)));
        if !SCHEDULING.contains(&flag) || (value.is_none() && words.next().is_none()) {
            return Some(word);
        }
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// A gate's record that passes for [`known`] at [`present`].
    pub(in crate::correct) fn record(id: &str, word: &str) -> Record {
        serde_json::from_value(json!({
            "schema_version": 1, "id": id, "gate": "tokens", "kinds": ["token-exact"],
            "spec_sha256": "spec", "started_at": "2026-01-01T00:00:00Z", "duration_ms": 1,
            "subject": {
                "name": "plumb", "version": "1", "commit": null, "source_sha256": "s1",
                "binary_sha256": "", "profile": "own", "threads": 1, "info": {},
            },
            "oracle": null, "checkpoint": { "name": "tiny", "sha256": "c1" },
            "machine": records::Machine::capture(),
            "verdict": { "word": word, "rules": [], "reason": "" },
            "compared": if word == "SKIPPED" { 0 } else { 30 },
            "measurements": [], "divergences": [],
            "evidence": [{ "name": "spec.toml", "path": "", "sha256": "", "bytes": 1 }],
            "reproduce": "", "supersedes": null,
        }))
        .unwrap()
    }

    /// What records are seen from.
    pub(in crate::correct) fn present() -> Present {
        Present {
            source_sha256: "another tree".to_owned(),
            specs: BTreeMap::from([("tokens".to_owned(), "spec".to_owned())]),
            checkpoints: BTreeMap::from([("tiny".to_owned(), "c1".to_owned())]),
            ..Present::default()
        }
    }

    /// An arm of ours.
    pub(in crate::correct) fn known() -> Known {
        Known {
            engine: "plumb".to_owned(),
            identity: json!({ "info": { "source_sha256": "s1", "profile": "own" } }),
            checkpoint: "tiny".to_owned(),
            checkpoint_sha256: "c1".to_owned(),
            arguments: vec![],
            ready_ms: 1,
        }
    }

    fn pass() -> Record {
        record("r1", "PASS")
    }

    fn with(known: &Known, records: &[Record]) -> Result<Certificate, Violation> {
        certify("plumb", known, &["tokens".to_owned()], records, &present())
    }

    #[test]
    fn a_gate_that_passes_on_the_page_is_a_certificate() {
        assert_eq!(with(&known(), &[pass()]).unwrap().passed["tokens"], "r1");
        let mended = Record { supersedes: Some("r0".to_owned()), ..pass() };
        assert!(with(&known(), &[record("r0", "FAIL"), mended]).is_ok());
        assert!(certify("plumb", &known(), &[], &[pass()], &present()).is_err(), "nothing named");
    }

    /// What the page does not take for a pass is no certificate.
    #[test]
    fn what_the_page_rejects_is_rejected() {
        let info = |key: &str, value: &str| {
            let mut record = pass();
            record.subject.info = json!({ key: value });
            record
        };
        let mut elsewhere = pass();
        elsewhere.subject.source_sha256 = "s2".to_owned();
        for records in [
            vec![],
            vec![elsewhere],
            vec![record("r1", "SKIPPED")],
            vec![record("r0", "FAIL"), pass()],
            vec![pass(), record("r2", "VOID")],
            vec![info("found_by", "--plumb")],
            vec![info("compared_with", "--oracle")],
            vec![Record { spec_sha256: "looser".to_owned(), ..pass() }],
            vec![Record { evidence: vec![], ..pass() }],
        ] {
            assert_eq!(with(&known(), &records).unwrap_err().rule, Rule::Correct, "{records:?}");
        }
    }

    #[test]
    fn a_record_of_something_else_is_rejected() {
        let series = json!({
            "plan_sha256": "", "arms": {}, "pairs": 4, "is_as_declared": true, "cells": [],
        });
        let mut profile = pass();
        profile.subject.profile = "other".to_owned();
        for (record, why) in [
            (Record { series: serde_json::from_value(series).unwrap(), ..pass() }, "series"),
            (Record { kinds: vec!["grid".to_owned()], ..pass() }, "grid does not compare"),
            (Record { kinds: vec!["tokenizer".to_owned()], ..pass() }, "does not compare answers"),
            (profile, "profile other"),
        ] {
            let found = with(&known(), &[record]).unwrap_err();
            assert!(found.reason.contains(why), "{}", found.reason);
        }
        let other = Known { checkpoint_sha256: "c2".to_owned(), ..known() };
        assert!(with(&other, &[pass()]).unwrap_err().reason.contains("another checkpoint"));
        let nameless = Known { identity: json!({}), ..known() };
        assert!(with(&nameless, &[pass()]).is_err());
    }

    #[test]
    fn an_arm_with_a_switch_of_its_own_inherits_nothing() {
        let passes = |arguments: &[&str]| {
            let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
            with(&Known { arguments, ..known() }, &[pass()]).is_ok()
        };
        assert!(passes(&["--max-num-batched-tokens", "64", "--block-size=32"]));
        for arguments in [
            &["--profile", "hf517-eager"][..],
            &["--block-size", "32", "--profile=own"],
            &["--block-size"],
            &["--new-switch"],
            &["stray"],
        ] {
            assert!(!passes(arguments), "{arguments:?}");
        }
    }
}
