//! The judge says who it is, and refuses to judge a tree that it was not built from; what it keeps names no folder of a machine.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::{STRICT, Workspace, subject_answers};
use records::VerdictWord as Word;

/// The last record.
fn last(workspace: &Workspace) -> records::Record {
    workspace.records().into_iter().max_by_key(|record| record.started_at).unwrap()
}

/// Sources of a harness that nobody built a `gate` from.
fn plant_harness(workspace: &Workspace) {
    workspace.write("Cargo.lock", "");
    for name in ["gates", "oracles", "records"] {
        fs::create_dir_all(workspace.path(&format!("{name}/src"))).unwrap();
        workspace.write(&format!("{name}/Cargo.toml"), "");
        workspace.write(&format!("{name}/src/lib.rs"), "//! Another harness.\n");
    }
}

#[test]
fn a_record_names_the_harness_that_judged() {
    let workspace = Workspace::new(STRICT);
    assert_eq!(workspace.gate(&["run", "tiny"]).status, 0);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    assert_eq!(last(&workspace).harness_sha256, Some(records::harness_digest(&root).unwrap()));
}

#[test]
fn a_gate_of_another_tree_judges_nothing() {
    let workspace = Workspace::new(STRICT);
    plant_harness(&workspace);
    let ran = workspace.gate(&["run", "tiny"]);
    assert_eq!(ran.status, 4, "{ran:?}");
    let verdict = last(&workspace).verdict;
    assert_eq!((verdict.word, verdict.rules), (Word::Void, vec!["V-DIRTY".to_owned()]));
    assert!(verdict.reason.contains("this `gate` was not built from this tree"));
    assert_eq!(last(&workspace).compared, 0);
    // Sources that cannot be read are no excuse.
    fs::remove_file(workspace.path("records/Cargo.toml")).unwrap();
    assert_eq!(workspace.gate(&["run", "tiny"]).status, 4);
    assert_eq!(last(&workspace).verdict.rules, ["V-DIRTY"]);
    let proof = workspace.gate(&["prove", "tiny"]);
    assert_ne!(proof.status, 0, "{proof:?}");
}

#[test]
fn what_is_kept_names_no_folder_of_this_machine() {
    let workspace = Workspace::new(STRICT);
    let root = workspace.path("").display().to_string();
    let root = root.trim_end_matches('/');
    let mut lines = subject_answers();
    let message = format!("cannot read {root}/weights.gguf or {root}/cache/checkpoints/x.gguf");
    lines[0] = json!({ "id": "one", "error": { "code": "io", "message": message } });
    workspace.answer("generate", &lines);
    workspace.write("weights.gguf", "weights");
    let engine = format!("{root}/engine-mock/plumb");
    let cache = format!("{root}/cache");
    let run = |workspace: &Workspace| {
        let arguments = ["run", "tiny", "--plumb", &engine, "--cache", &cache];
        workspace.gate_alone(&arguments)
    };
    assert_eq!(run(&workspace).status, 1);
    let failed = last(&workspace);
    assert_eq!(failed.reproduce, "cargo gate run tiny --plumb engine-mock/plumb");
    assert!(
        failed.divergences[0]["what"]
            .as_str()
            .unwrap()
            .ends_with("cannot read weights.gguf or $CACHE/checkpoints/x.gguf")
    );
    workspace.write("weights.gguf", "tampered");
    assert_eq!(run(&workspace).status, 4);
    assert!(last(&workspace).verdict.reason.starts_with("V-CKPT: weights.gguf: expected"));
    fs::write(workspace.golden().join("cases.jsonl"), "").unwrap();
    workspace.write("weights.gguf", "weights");
    assert_eq!(run(&workspace).status, 4);
    fs::remove_file(workspace.path("weights.gguf")).unwrap();
    assert_eq!(run(&workspace).status, 5);
    let mut read = 0;
    for folder in ["records/runs", "records/evidence"] {
        for entry in fs::read_dir(workspace.path(folder)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            let text = if path.extension().is_some_and(|extension| extension == "gz") {
                std::io::read_to_string(flate2::read::GzDecoder::new(bytes.as_slice())).unwrap()
            } else {
                String::from_utf8(bytes).unwrap()
            };
            assert!(!text.contains(root), "{text}");
            read += 1;
        }
    }
    assert!(read >= 5, "{read}");
}
