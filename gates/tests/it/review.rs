//! `gate review`: why a run has its word, and no word from what was changed.

use std::fs;
use std::path::PathBuf;

use crate::support::{NEAR_TIE, SECOND, STRICT, Workspace, subject_answer, subject_answers};
use records::record::Record;

/// The page of the only record, and the exit status that came with it.
fn page(workspace: &Workspace, name: &str) -> (i32, String) {
    let out = workspace.path("page.html");
    let ran = workspace.gate_with(&["review", name, "--out", out.to_str().unwrap()], &[]);
    let html = fs::read_to_string(&out).unwrap_or_else(|_| panic!("{}", ran.stderr));
    (ran.status, html)
}

fn flip(path: &PathBuf, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from));
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

fn reviewed(checks: &str) -> (Workspace, Record) {
    let workspace = Workspace::new(checks);
    workspace.gate(&["run", "tiny"]);
    let record = workspace.records().remove(0);
    (workspace, record)
}

#[test]
fn a_pass_is_derived_again_with_every_rule_and_its_inputs() {
    let (workspace, record) = reviewed(STRICT);
    for name in ["latest:tiny", record.id.as_str(), &record.id[..20]] {
        let (status, html) = page(&workspace, name);
        assert_eq!(status, 0);
        for said in [
            "class=\"word\"",
            "PASS",
            "V-DIRTY",
            "V-WORKLOAD",
            "holds",
            "said the same word",
            &record.reproduce,
        ] {
            assert!(html.contains(said), "{said}");
        }
        assert!(html.contains(&record.evidence[0].sha256));
    }
    let text = workspace.gate_with(&["review", "latest:tiny", "--text"], &[]);
    assert_eq!(text.status, 0, "{}", text.stderr);
    assert!(text.stdout.starts_with("✓ PASS  tiny\n") && !text.stdout.contains('\u{1b}'));
}

#[test]
fn a_divergence_shows_both_continuations_and_what_was_decided() {
    let workspace = Workspace::new(NEAR_TIE);
    let mut lines = subject_answers();
    lines[0] = subject_answer("one", &[11, 12], &[101, SECOND, 103, 104]);
    workspace.answer("generate", &lines);
    workspace.gate(&["run", "tiny"]);
    let (status, html) = page(&workspace, "latest:tiny");
    assert_eq!(status, 0, "a page of a FAIL is a page");
    for said in ["FAIL", "parts at token 1", "logprob, nat", "a tie is"] {
        assert!(html.contains(said), "{said}");
    }
}

#[test]
fn a_flipped_byte_is_named_and_no_word_is_printed() {
    let (workspace, record) = reviewed(STRICT);
    let run = workspace.path("records/runs").join(format!("{}.json", record.id));
    let spec = record.evidence.iter().find(|entry| entry.name == "spec.toml").unwrap();
    let spec = workspace.path("records").join(&spec.path);
    for (path, from, to) in [(run, "\"compared\": ", "\"compared\": 1"), (spec, "=", " =")] {
        let whole = fs::read(&path).unwrap();
        flip(&path, from, to);
        let (status, html) = page(&workspace, "latest:tiny");
        assert_eq!(status, 4);
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(html.contains(name), "{name} is not named");
        assert!(!html.contains("class=\"word\"") && !html.contains("PASS"));
        let text = workspace.gate_with(&["review", "latest:tiny", "--text"], &[]);
        assert!(
            text.status == 4 && text.stdout.contains("hashes to") && !text.stdout.contains("PASS")
        );
        fs::write(&path, whole).unwrap();
    }
    assert_eq!(page(&workspace, "latest:tiny").0, 0);
}

#[test]
fn numbers_over_time_are_a_page_and_an_unknown_name_says_what_is_known() {
    let (workspace, _) = reviewed(STRICT);
    workspace.gate(&["run", "tiny"]);
    let out = workspace.path("regressions.html");
    let ran =
        workspace.gate_with(&["review", "--regressions", "--out", out.to_str().unwrap()], &[]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let html = fs::read_to_string(out).unwrap();
    assert!(html.contains("exact_cases") && html.contains("no threshold yet"));
    let none = workspace.gate_with(&["review", "latest:other"], &[]);
    assert_eq!(none.status, 2);
    assert!(none.stderr.contains("no record is of gate other"), "{}", none.stderr);
}
