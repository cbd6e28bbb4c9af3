//! `gate run --oracle`: the same gate with another oracle, which is recorded and decides nothing.

use std::fs;

use crate::support::{STRICT, Workspace};
use records::VerdictWord as Word;

#[test]
fn another_oracle_has_no_golden_of_this_gate_and_its_record_says_who_was_asked() {
    let workspace = Workspace::new(STRICT);
    let registry = workspace.path("oracles/registry");
    fs::copy(registry.join("llama-cpp.toml"), registry.join("other.toml")).unwrap();
    let ran = workspace.gate(&["run", "tiny", "--oracle", "other"]);
    assert_eq!(ran.status, 5, "{ran:?}");
    let record = workspace.records().remove(0);
    assert_eq!(record.verdict.word, Word::Skipped);
    assert!(record.verdict.reason.contains("no golden of other"), "{}", record.verdict.reason);
    assert_eq!(record.subject.info["compared_with"], "--oracle");
    assert!(record.reproduce.contains("run tiny --oracle other"), "{}", record.reproduce);
}

#[test]
fn the_oracle_of_the_spec_is_no_other_one() {
    let workspace = Workspace::new(STRICT);
    assert_eq!(workspace.gate(&["run", "tiny", "--oracle", "llama-cpp"]).status, 0);
    let record = workspace.records().remove(0);
    assert_eq!(record.verdict.word, Word::Pass);
    assert!(record.subject.info.get("compared_with").is_none());
}

#[test]
fn an_oracle_that_nobody_declares_is_a_program_error() {
    let workspace = Workspace::new(STRICT);
    let ran = workspace.gate(&["run", "tiny", "--oracle", "nobody"]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(workspace.records().is_empty());
}
