//! What a run may not claim: corrections it has no right to, evidence that is gone, a profile it did not run, answers of a
//! process that was stopped.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{NEAR_TIE, SECOND, STRICT, Workspace, subject_answer, subject_answers};
use records::VerdictWord as Word;
use serde_json::json;

/// The only record of the workspace.
fn only(workspace: &Workspace) -> records::Record {
    let mut records = workspace.records();
    assert_eq!(records.len(), 1);
    records.remove(0)
}

/// What the mock engine says of itself.
fn info(workspace: &Workspace, profile: Option<&str>, source: &str) {
    let info =
        json!({ "version": "0.0.0", "source_sha256": source, "profile": profile, "threads": 1 });
    workspace.write("engine-mock/info.stdout", &info.to_string());
}

/// Names a profile in the spec of `tiny`.
fn judge_profile(workspace: &Workspace, profile: &str) {
    let path = workspace.path("gates/specs/tiny.toml");
    let spec = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("profile = \"{profile}\"\n{spec}")).unwrap();
}

#[test]
fn a_correction_names_a_record_of_its_own_gate() {
    let workspace = Workspace::new(STRICT);
    workspace.write_spec("other", STRICT);
    assert_eq!(workspace.gate(&["run", "tiny"]).status, 0);
    let id = only(&workspace).id;
    let refused = [
        (vec!["run", "tiny", "--supersedes", "nothing"], "no record has the id nothing"),
        (vec!["run", "other", "--supersedes", &id], "that record is of gate tiny"),
        (vec!["run", "tiny", "other", "--supersedes", &id], "with several gates"),
    ];
    for (arguments, reason) in refused {
        let ran = workspace.gate(&arguments);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
        assert_eq!(workspace.records().len(), 1);
    }
    assert_eq!(workspace.gate(&["run", "tiny", "--supersedes", &id]).status, 0);
    let corrections: Vec<_> =
        workspace.records().into_iter().filter_map(|record| record.supersedes).collect();
    assert_eq!(corrections, [id]);
}

#[test]
fn missing_or_changed_evidence_is_named() {
    let workspace = Workspace::new(NEAR_TIE);
    assert_eq!(workspace.gate(&["run", "tiny"]).status, 0);
    let whole = workspace.gate_with(&["records", "verify"], &[]);
    assert_eq!(
        (whole.status, whole.stdout.as_str()),
        (0, "whole: 1 record with 5 evidence files\n")
    );
    let evidence = only(&workspace).evidence.remove(0);
    let path = workspace.path("records").join(&evidence.path);
    let damages: [&dyn Fn(); 2] =
        [&|| std::fs::write(&path, "changed").unwrap(), &|| std::fs::remove_file(&path).unwrap()];
    for damage in damages {
        damage();
        for arguments in
            [&["records", "verify"][..], &["gaps"], &["gaps", "--json"], &["gaps", "--check"]]
        {
            let ran = workspace.gate_with(arguments, &[]);
            assert_eq!(ran.status, 4, "{arguments:?} {ran:?}");
            assert!(ran.stderr.contains(&evidence.path), "{}", ran.stderr);
            assert_eq!(ran.stdout, "");
        }
    }
}

#[test]
fn another_profile_than_the_gates_voids() {
    for said in [Some("hf517-eager"), None] {
        let workspace = Workspace::new(STRICT);
        judge_profile(&workspace, "llamacpp-cpu");
        info(&workspace, said, &"0".repeat(64));
        let ran = workspace.gate(&["run", "tiny"]);
        assert_eq!(ran.status, 4, "{ran:?}");
        assert_eq!(only(&workspace).verdict.rules, ["V-PROFILE"]);
    }
    let workspace = Workspace::new(STRICT);
    judge_profile(&workspace, "llamacpp-cpu");
    assert_eq!(workspace.gate(&["run", "tiny"]).status, 0);
}

#[test]
fn other_sources_with_the_model_loaded_void() {
    let workspace = Workspace::new(STRICT);
    info(&workspace, Some("llamacpp-cpu"), &"0".repeat(64));
    let loaded = json!({ "version": "0.0.0", "source_sha256": "1".repeat(64), "profile": null, "threads": 1 });
    workspace.write("engine-mock/loaded.stdout", &loaded.to_string());
    workspace.exits("loaded", "0");
    let script = std::fs::read_to_string(workspace.path("engine-mock/plumb")).unwrap();
    let script = script
        .replace("input=$(cat)\n", "input=$(cat)\ncase $*  in info*gguf*) name=loaded ;; esac\n");
    workspace.write("engine-mock/plumb", &script);
    let ran = workspace.gate(&["run", "tiny"]);
    assert_eq!(ran.status, 4, "{ran:?}");
    assert_eq!(only(&workspace).verdict.rules, ["V-DIRTY"]);
}

#[test]
fn bad_input_is_an_excuse_only_where_a_line_says_so() {
    let workspace = Workspace::new(STRICT);
    workspace.exits("generate", "2");
    let ran = workspace.gate(&["run", "tiny"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let record = only(&workspace);
    assert_eq!(
        (record.verdict.word, record.verdict.rules),
        (Word::Fail, vec!["V-FAILED".to_owned()])
    );
}

#[test]
fn a_refused_line_with_status_two_is_that_cases_failure() {
    let workspace = Workspace::new(STRICT);
    let mut lines = subject_answers();
    lines[0] = json!({ "id": "one", "error": { "code": "context", "message": "too long" } });
    workspace.answer("generate", &lines);
    workspace.exits("generate", "2");
    assert_eq!(workspace.gate(&["run", "tiny"]).status, 1);
    assert_eq!(only(&workspace).verdict.reason, "2/3 exact, 1 without a usable answer");
}

#[test]
fn a_run_of_a_named_binary_says_that_it_decides_nothing() {
    let workspace = Workspace::new(STRICT);
    workspace.answer("generate", &[subject_answer("one", &[11, 12], &[101, SECOND, 103, 104])]);
    let ran = workspace.gate(&["run", "tiny"]);
    assert!(ran.verdict().ends_with(", decides no track"), "{ran:?}");
}

#[test]
fn a_record_names_its_inputs() {
    let workspace = Workspace::new(STRICT);
    assert_eq!(workspace.gate(&["run", "tiny"]).status, 0);
    let inputs = std::fs::read(workspace.path("gates/inputs/tiny.jsonl")).unwrap();
    assert_eq!(only(&workspace).inputs_sha256, Some(oracles::digest::sha256_bytes(&inputs)));
}

#[test]
fn a_checkpoint_declared_with_an_error_is_a_program_error() {
    let workspace = Workspace::new(STRICT);
    workspace.write("oracles/checkpoints/tiny.toml", "summary = \"x\"\nlicense = \"typo\"\n");
    let ran = workspace.gate(&["run", "tiny"]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(workspace.records().is_empty());
}

#[test]
fn a_run_shows_how_many_cases_the_engine_has_answered() {
    let workspace = Workspace::new(STRICT);
    let ran = workspace.gate(&["run", "tiny"]);
    assert!(ran.stderr.contains("plumb generate: 100 %"), "{}", ran.stderr);
    assert!(!ran.stdout.contains("100 %"));
}

/// A background process of the engine holds its standard output for longer than the gate may take.
#[test]
fn what_the_engine_started_ends_with_it() {
    let workspace = Workspace::new(STRICT);
    let script = std::fs::read_to_string(workspace.path("engine-mock/plumb")).unwrap();
    workspace.write("engine-mock/plumb", &script.replace("name=$1\n", "name=$1\nsleep 300 &\n"));
    let started = Instant::now();
    assert_eq!(workspace.gate(&["run", "tiny"]).status, 0);
    assert!(started.elapsed() < Duration::from_secs(20));
}

/// The same with an engine that does not end either: the budget stands.
#[test]
fn the_budget_ends_the_whole_group() {
    let workspace = Workspace::new(STRICT);
    let path = workspace.path("gates/specs/tiny.toml");
    let spec = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, spec.replace("budget-seconds = 20", "budget-seconds = 1")).unwrap();
    let script = std::fs::read_to_string(workspace.path("engine-mock/plumb")).unwrap();
    let stuck = "name=$1\nif [ $name = generate ]; then sleep 300 & sleep 300; fi\n";
    workspace.write("engine-mock/plumb", &script.replace("name=$1\n", stuck));
    let started = Instant::now();
    let ran = workspace.gate(&["run", "tiny"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(only(&workspace).verdict.reason.contains("did not end within 1 s"));
    assert!(started.elapsed() < Duration::from_secs(20));
}

/// A signal to the whole group, as a terminal sends it, leaves no record and no engine.
#[test]
fn an_interrupted_run_leaves_no_record() {
    for signal in ["-INT", "-TERM"] {
        let workspace = Workspace::new(STRICT);
        let script = std::fs::read_to_string(workspace.path("engine-mock/plumb")).unwrap();
        let waiting =
            "name=$1\nif [ $name = generate ]; then echo $$ >\"$here/started\"; sleep 300; fi\n";
        workspace.write("engine-mock/plumb", &script.replace("name=$1\n", waiting));
        let mut gate = Command::new(env!("CARGO_BIN_EXE_gate"))
            .args(["run", "tiny", "--plumb", "engine-mock/plumb", "--cache", "cache"])
            .current_dir(workspace.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let begun = workspace.path("engine-mock/started");
        let deadline = Instant::now() + Duration::from_secs(15);
        let engine = loop {
            let pid = std::fs::read_to_string(&begun).unwrap_or_default();
            if pid.ends_with('\n') {
                break pid.trim().to_owned();
            }
            assert!(Instant::now() < deadline, "the engine was not asked");
            std::thread::sleep(Duration::from_millis(10));
        };
        let group = format!("-{}", gate.id());
        assert!(Command::new("kill").args([signal, "--", &group]).status().unwrap().success());
        assert_eq!(gate.wait().unwrap().code(), Some(130));
        assert!(workspace.records().is_empty());
        assert!(workspace.leftovers().is_empty());
        let alive = Command::new("kill").args(["-0", &engine]).stderr(Stdio::null()).status();
        assert!(!alive.unwrap().success(), "the engine outlived the gate");
    }
}
