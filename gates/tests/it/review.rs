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

/// One track, with the gate `tiny`, and 74 that have none.
fn tracks() -> String {
    let track = |row: u32| {
        let gates = if row == 1 {
            "gates = [\"tiny\"]\n"
        } else {
            "planned = [\"later\"]\nwaits-for = \"time\"\n"
        };
        format!(
            "[[track]]\nid = \"track-{row}\"\nrow = {row}\nclass = \"G\"\ntitle = \"A track\"\nabout = \"A test.\"\n{gates}\n"
        )
    };
    (1..=75).fold("known-failing = []\n\n".to_owned(), |text, row| text + &track(row))
}

/// Evidence is as much of a record as its own file: a page that rests on many records names it too, and draws no number from its record.
#[test]
fn damaged_evidence_is_named_on_the_pages_of_tracks_and_of_numbers() {
    let (workspace, record) = reviewed(STRICT);
    workspace.write("open-gaps.toml", &tracks());
    // The word of a track is of a tree, which has sources.
    workspace.write("Cargo.lock", "");
    for name in ["engine", "kernels", "gates", "oracles", "records"] {
        fs::create_dir_all(workspace.path(&format!("{name}/src"))).unwrap();
        workspace.write(&format!("{name}/Cargo.toml"), "");
        workspace.write(&format!("{name}/src/lib.rs"), "");
    }
    let spec = record.evidence.iter().find(|entry| entry.name == "spec.toml").unwrap();
    let path = workspace.path("records").join(&spec.path);
    let name = path.file_name().unwrap().to_str().unwrap();
    let out = workspace.path("page.html");
    let review = |target: &str| {
        let ran = workspace.gate_with(&["review", target, "--out", out.to_str().unwrap()], &[]);
        (ran.status, fs::read_to_string(&out).unwrap_or_else(|_| panic!("{}", ran.stderr)))
    };
    for target in ["track-1", "--regressions"] {
        let whole = fs::read(&path).unwrap();
        let (status, html) = review(target);
        assert_eq!(status, 0, "{target}");
        assert!(!html.contains(name), "{target}");
        flip(&path, "=", " =");
        let (status, html) = review(target);
        assert_eq!(status, 4, "{target}");
        assert!(html.contains(name) && !html.contains("class=\"word\""), "{target}");
        assert!(!html.contains(&record.id), "{target}");
        fs::write(&path, whole).unwrap();
    }
}

/// A record that is whole and says otherwise than its evidence: what contradicts what is told, and no word or number of either.
#[test]
fn a_contradicted_record_shows_no_word_and_no_number() {
    let (workspace, mut record) = reviewed(STRICT);
    let store = records::Store::open(workspace.path("records")).unwrap();
    record.compared += 1;
    record.verdict.reason = "4711/4711 exact".into();
    let mut draft = store.begin("tiny").unwrap();
    for entry in &record.evidence {
        draft.evidence(&entry.name, &store.evidence(entry).unwrap()).unwrap();
    }
    let path = draft.commit(record).unwrap();
    let id = path.file_stem().unwrap().to_str().unwrap();
    let (status, html) = page(&workspace, id);
    assert_eq!(status, 4);
    for said in ["another reason", "another number of cases", "facts.json", id] {
        assert!(html.contains(said), "{said}");
    }
    for said in ["class=\"word\"", "PASS", "4711", "cases were compared", "exact_cases"] {
        assert!(!html.contains(said), "{said}");
    }
}

/// Large evidence that is not on this machine is no damage: the page says so, and shows the word that was recorded.
#[test]
fn absent_evidence_is_told_beside_the_recorded_word() {
    let (workspace, record) = reviewed(STRICT);
    let outside = records::External::folder(workspace.path("cache/evidence"));
    let store = records::Store::open(workspace.path("records")).unwrap().with_external(outside);
    let mut draft = store.begin("tiny").unwrap();
    let large = draft.evidence("large.log", &vec![b'x'; 2 << 20]).unwrap();
    let path = draft.commit(record).unwrap();
    let id = path.file_stem().unwrap().to_str().unwrap();
    let (status, html) = page(&workspace, id);
    let linked = format!("cache/evidence/{}", large.sha256);
    assert_eq!(status, 0);
    assert!(html.contains(&linked), "outside the store, and one click away");
    fs::remove_file(workspace.path(&linked)).unwrap();
    let (status, html) = page(&workspace, id);
    assert_eq!(status, 0);
    for said in ["Not on this machine: large.log", "class=\"word\"", "PASS"] {
        assert!(html.contains(said), "{said}");
    }
    assert!(!html.contains(&linked));
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
