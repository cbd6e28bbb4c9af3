//! `gate recheck`: every word again from its evidence alone, and an edited byte noticed.

use std::fs;

use crate::support::{NEAR_TIE, SECOND, STRICT, Workspace, subject_answer, subject_answers};
use records::VerdictWord as Word;

/// A workspace whose engine leaves the oracle at one token.
fn diverging(checks: &str) -> Workspace {
    let workspace = Workspace::new(checks);
    let mut lines = subject_answers();
    lines[0] = subject_answer("one", &[11, 12], &[101, SECOND, 103, 104]);
    workspace.answer("generate", &lines);
    workspace
}

#[test]
fn every_word_is_derived_again_without_engine_or_oracle() {
    let skipped = Workspace::without_golden(STRICT);
    let voided = Workspace::new(STRICT);
    voided.edit_manifest(|manifest| manifest["oracle"]["version"] = "0.0.0".into());
    let silent = Workspace::new(STRICT);
    silent.exits("generate", "1");
    silent.answer("generate", &[]);
    let cases = [
        (Workspace::new(STRICT), Word::Pass),
        (Workspace::new(NEAR_TIE), Word::Pass),
        (diverging(STRICT), Word::Fail),
        (diverging(NEAR_TIE), Word::Fail),
        (silent, Word::Fail),
        (voided, Word::Void),
        (skipped, Word::Skipped),
    ];
    let mut derived = 0;
    for (workspace, word) in cases {
        workspace.gate(&["run", "tiny"]);
        let record = workspace.records().remove(0);
        assert_eq!(record.verdict.word, word, "{:?}", record.verdict);
        for gone in ["engine-mock", "oracles/goldens", "gates/specs", "weights.gguf"] {
            let path = workspace.path(gone);
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
        let ran = workspace.gate_with(&["recheck", &record.id], &[]);
        let line = format!("{} {}: {}\n", record.id, word.as_str(), record.verdict.reason);
        assert_eq!((ran.status, ran.stdout), (0, line), "{}", ran.stderr);
        derived += 1;
    }
    assert_eq!(derived, 7);
}

#[test]
fn an_edited_byte_is_noticed_wherever_it_is() {
    let workspace = diverging(NEAR_TIE);
    workspace.gate(&["run", "tiny"]);
    let record = workspace.records().remove(0);
    let run = format!("records/runs/{}.json", record.id);
    let judged = record.evidence.iter().filter(|file| file.name != "cases.jsonl");
    let judged = judged.map(|file| format!("records/{}", file.path));
    let mut edited = 0;
    for path in judged.chain([run]) {
        let path = workspace.path(&path);
        let whole = fs::read(&path).unwrap();
        for place in [0, whole.len() / 2, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            fs::write(&path, &bytes).unwrap();
            let ran = workspace.gate_with(&["recheck", &record.id], &[]);
            assert_ne!(ran.status, 0, "byte {place} of {}", path.display());
            assert!(ran.stdout.is_empty(), "{}", ran.stdout);
            edited += 1;
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(edited, 15);
    assert_eq!(workspace.gate_with(&["recheck", &record.id], &[]).status, 0);
    assert_eq!(workspace.gate_with(&["recheck", "--all"], &[]).status, 0);
    assert_eq!(workspace.gate_with(&["recheck", "nothing"], &[]).status, 2);
}
