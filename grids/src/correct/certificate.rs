//! V-CORRECT: speed of an engine counts only where its gates have passed on the same sources and the same checkpoint.

use std::collections::BTreeMap;

use records::{Record, VerdictWord};
use serde::{Deserialize, Serialize};

use crate::rule::{Rule, Violation};

/// The records that say that an arm's answers are right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// The arm.
    pub arm: String,
    /// By gate, the id of the record in which it passed.
    pub passed: BTreeMap<String, String>,
}

/// What is certified: an engine's sources on a checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The arm's name.
    pub arm: &'a str,
    /// SHA-256 of the engine's sources, as it says of itself.
    pub source_sha256: &'a str,
    /// SHA-256 of the checkpoint that it reads.
    pub checkpoint_sha256: &'a str,
}

/// The certificate of a subject by every one of `gates`, from the newest word of each on record; the violation names the first gate
/// that did not pass. A gate that compared nothing, or other sources, or another checkpoint, has not.
pub fn certify(
    subject: Subject<'_>,
    gates: &[String],
    records: &[Record],
) -> Result<Certificate, Violation> {
    let broken = |reason: String| Violation::new(Rule::Correct, reason);
    let Subject { arm, source_sha256, checkpoint_sha256 } = subject;
    if gates.is_empty() {
        return Err(broken(format!("{arm}: no gate is named that would show it")));
    }
    let mut passed = BTreeMap::new();
    for gate in gates {
        let of_it = records.iter().filter(|record| record.gate == *gate);
        let mut of_it = of_it.filter(|record| {
            let checkpoint = record.checkpoint.as_ref().map(|checkpoint| &*checkpoint.sha256);
            record.subject.source_sha256 == source_sha256 && checkpoint == Some(checkpoint_sha256)
        });
        // Records come oldest first.
        match of_it.next_back() {
            Some(record) if record.verdict.word == VerdictWord::Pass => {
                passed.insert(gate.clone(), record.id.clone());
            }
            Some(record) => {
                let word = record.verdict.word.as_str();
                return Err(broken(format!("{arm}: {gate} is {word} in {}", record.id)));
            }
            None => {
                let sources = &source_sha256[..source_sha256.len().min(12)];
                let reason = format!(
                    "{arm}: {gate} is not on record for sources {sources} and this checkpoint: `gate run {gate}`"
                );
                return Err(broken(reason));
            }
        }
    }
    Ok(Certificate { arm: arm.to_owned(), passed })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(gate: &str, word: &str, source: &str, checkpoint: &str) -> Record {
        let compared = if word == "SKIPPED" { 0 } else { 30 };
        serde_json::from_value(json!({
            "schema_version": 1, "id": format!("{gate}-{word}"), "gate": gate, "kinds": [],
            "spec_sha256": "", "started_at": "2026-01-01T00:00:00Z", "duration_ms": 1,
            "subject": {
                "name": "plumb", "version": "1", "commit": null, "source_sha256": source,
                "binary_sha256": "", "profile": "own", "threads": 1, "info": null,
            },
            "oracle": null, "checkpoint": { "name": "tiny", "sha256": checkpoint },
            "machine": records::Machine::capture(),
            "verdict": { "word": word, "rules": [], "reason": "" },
            "compared": compared, "measurements": [], "divergences": [], "evidence": [],
            "reproduce": "", "supersedes": null,
        }))
        .unwrap()
    }

    #[test]
    fn the_newest_word_on_the_same_sources_and_checkpoint_decides() {
        let subject = Subject { arm: "plumb", source_sha256: "s1", checkpoint_sha256: "c1" };
        let gates = ["tokens".to_owned()];
        let with = |records: &[Record]| certify(subject, &gates, records);
        let pass = || record("tokens", "PASS", "s1", "c1");
        assert_eq!(with(&[pass()]).unwrap().passed["tokens"], "tokens-PASS");
        for others in [
            vec![],
            vec![record("tokens", "PASS", "s2", "c1")],
            vec![record("tokens", "PASS", "s1", "c2")],
            vec![record("other", "PASS", "s1", "c1")],
            vec![record("tokens", "SKIPPED", "s1", "c1")],
            vec![pass(), record("tokens", "FAIL", "s1", "c1")],
            vec![pass(), record("tokens", "VOID", "s1", "c1")],
        ] {
            assert_eq!(with(&others).unwrap_err().rule, Rule::Correct, "{others:?}");
        }
        assert!(with(&[record("tokens", "FAIL", "s1", "c1"), pass()]).is_ok(), "mended since");
        assert!(certify(subject, &[], &[pass()]).is_err(), "nothing named shows nothing");
    }
}
