//! `gate records …` and the pages, as a person or a job runs them.

use serde_json::{Value, json};

use crate::support::{SECOND, STRICT, Workspace, subject_answer, subject_answers};

/// A workspace with two records: one that passed, and one of an engine that answered otherwise.
fn workspace() -> (Workspace, String, String) {
    let workspace = Workspace::new(STRICT);
    assert_eq!(workspace.gate(&["run", "tiny"]).status, 0);
    let mut answers = subject_answers();
    answers[0] = subject_answer("one", &[11, 12], &[101, SECOND, 103, 104]);
    workspace.answer("generate", &answers);
    assert_eq!(workspace.gate(&["run", "tiny"]).status, 1);
    let mut records = workspace.records();
    records.sort_by_key(|record| record.started_at);
    let id = |index: usize| records[index].id.clone();
    (workspace, id(0), id(1))
}

fn hash(id: &str) -> &str {
    id.rsplit_once('-').unwrap().1
}

#[test]
fn a_list_is_filtered_and_shows_the_newest_last() {
    let (workspace, passed, failed) = workspace();
    let list = |arguments: &[&str]| {
        let ran = workspace.gate_with(&[&["records", "list"], arguments].concat(), &[]);
        assert_eq!(ran.status, 0, "{ran:?}");
        ran.stdout
    };
    let all = list(&["--gate", "tiny"]);
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines.len(), 3, "{all}");
    assert!(lines[0].starts_with("date (UTC)"));
    for (line, id, word) in [(lines[1], &passed, "PASS"), (lines[2], &failed, "FAIL")] {
        assert!(line.contains(hash(id)) && line.contains(word) && line.contains("llama-cpp"));
    }
    let only = list(&["--word", "fail"]);
    assert!(only.contains(hash(&failed)) && !only.contains(hash(&passed)), "{only}");
    assert_eq!(list(&["--since", "2999-01-01"]), "none of 3 records is of that kind\n");
    let json: Value = serde_json::from_str(&list(&["--gate", "tiny", "--json"])).unwrap();
    assert_eq!(json["records"][1]["id"], json!(failed));
    let ran = workspace.gate_with(&["records", "list", "--word", "green"], &[]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("NOT ESTABLISHED"), "{ran:?}");
}

#[test]
fn a_record_is_shown_by_any_beginning_that_is_its_own() {
    let (workspace, passed, failed) = workspace();
    let show =
        |arguments: &[&str]| workspace.gate_with(&[&["records", "show"], arguments].concat(), &[]);
    for name in [passed.as_str(), hash(&passed), &hash(&passed)[..10]] {
        let ran = show(&[name]);
        assert_eq!(ran.status, 0, "{ran:?}");
        for part in ["tiny: PASS", &passed, "measurements", "exact_cases", "spec.toml", "reproduce"]
        {
            assert!(ran.stdout.contains(part), "{part}: {ran:?}");
        }
    }
    let whole =
        std::fs::read_to_string(workspace.path(&format!("records/runs/{failed}.json"))).unwrap();
    assert_eq!(show(&[&failed, "--json"]).stdout, whole);
    let several = show(&[&passed[..4]]);
    assert_eq!(several.status, 2);
    assert!(several.stderr.contains("could be 3 records"), "{several:?}");
}

#[test]
fn a_diff_names_the_fields_and_its_status_says_whether_there_are_any() {
    let (workspace, passed, failed) = workspace();
    let diff =
        |arguments: &[&str]| workspace.gate_with(&[&["records", "diff"], arguments].concat(), &[]);
    let ran = diff(&[&passed, &failed]);
    assert_eq!(ran.status, 1);
    for part in ["verdict.word", "PASS", "FAIL", "measurements.exact_cases single.value", "0.6667"]
    {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    assert!(!ran.stdout.contains("spec_sha256"), "{ran:?}");
    let same = diff(&[&passed, hash(&passed)]);
    assert_eq!((same.status, same.stdout.contains("say the same")), (0, true), "{same:?}");
    let json: Value = serde_json::from_str(&diff(&[&passed, &failed, "--json"]).stdout).unwrap();
    let word =
        json["differences"].as_array().unwrap().iter().find(|d| d["field"] == "verdict.word");
    assert_eq!(word.unwrap()["b"], json!("FAIL"));
}

/// Without the feature the command to type is told, with what was asked.
#[cfg(not(feature = "query"))]
#[test]
fn a_query_names_the_command_that_can_run_it() {
    let (workspace, ..) = workspace();
    let sql = "SELECT gate FROM runs WHERE gate = 'tiny'";
    let ran = workspace.gate_with(&["records", "query", sql, "--csv"], &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{ran:?}");
    let command = r"cargo query 'SELECT gate FROM runs WHERE gate = '\''tiny'\''' --csv";
    assert!(ran.stderr.contains(command), "{ran:?}");
}

/// The same of samples; and a gate, which keeps no requests, is a skip where they can be asked for.
#[test]
fn samples_of_a_gate_are_none() {
    let (workspace, passed, _) = workspace();
    let out = workspace.path("samples.parquet");
    let arguments = ["records", "samples", &passed, "--out", out.to_str().unwrap()];
    let ran = workspace.gate_with(&arguments, &[]);
    if cfg!(feature = "query") {
        assert!(ran.status == 5 && ran.stderr.contains("keeps no requests"), "{ran:?}");
    } else {
        let command = format!("--bin gate -- records samples {passed} --out '{}'", out.display());
        assert!(ran.status == 2 && ran.stderr.contains(&command), "{ran:?}");
    }
    assert!(!out.exists());
}

#[cfg(feature = "query")]
#[test]
fn a_query_is_a_table_lines_of_json_or_csv() {
    let (workspace, ..) = workspace();
    let query =
        |arguments: &[&str]| workspace.gate_with(&[&["records", "query"], arguments].concat(), &[]);
    let sql = "SELECT gate, word, compared FROM runs WHERE gate = 'tiny' ORDER BY started_at";
    assert_eq!(
        query(&[sql]).stdout,
        "gate  word  compared\ntiny  PASS         3\ntiny  FAIL         3\n"
    );
    assert_eq!(query(&[sql, "--csv"]).stdout, "gate,word,compared\ntiny,PASS,3\ntiny,FAIL,3\n");
    let lines = "{\"gate\":\"tiny\",\"word\":\"PASS\",\"compared\":3}\n{\"gate\":\"tiny\",\"word\":\"FAIL\",\"compared\":3}\n";
    assert_eq!(query(&[sql, "--json"]).stdout, lines);
    let wrong = query(&["SELECT colour FROM runs"]);
    assert_eq!((wrong.status, wrong.stdout.as_str()), (2, ""), "{wrong:?}");
    assert!(
        wrong.stderr.contains("measurements: run, started_at, gate, word, metric"),
        "{wrong:?}"
    );
}

#[test]
fn what_is_torn_is_named_and_moved_only_when_asked() {
    let (workspace, passed, _) = workspace();
    let verify = |more: &[&str]| workspace.gate_with(&[&["records", "verify"], more].concat(), &[]);
    assert!(verify(&[]).stdout.starts_with("whole: 3 records"));
    let path = workspace.path(&format!("records/runs/{passed}.json"));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..200]).unwrap();
    let torn = verify(&[]);
    assert_eq!(torn.status, 4);
    assert!(torn.stderr.contains(&passed) && torn.stderr.contains("--set-aside"), "{torn:?}");
    assert!(path.exists());
    let moved = verify(&["--set-aside"]);
    assert_eq!(moved.status, 0, "{moved:?}");
    assert!(
        moved.stdout.contains("set aside: ") && moved.stdout.contains("records/torn/"),
        "{moved:?}"
    );
    assert_eq!(
        std::fs::read_to_string(workspace.path(&format!("records/torn/{passed}.json"))).unwrap(),
        text[..200]
    );
}

/// Evidence outside git that is not here: neither whole nor damaged.
#[test]
fn absent_evidence_has_a_status_of_its_own() {
    let workspace = Workspace::new(STRICT);
    assert_eq!(workspace.gate(&["run", "tiny"]).status, 0);
    let cache = records::External::folder(workspace.path("cache/evidence"));
    let store = records::Store::open(workspace.path("records")).unwrap().with_external(cache);
    let record = workspace.records().remove(0);
    let mut draft = store.begin("tiny").unwrap();
    let entry = draft.evidence("samples.parquet", &vec![1; 2 << 20]).unwrap();
    draft.commit(record).unwrap();
    let verify = |more: &[&str]| workspace.gate_with(&[&["records", "verify"], more].concat(), &[]);
    assert_eq!(verify(&[]).status, 0);
    let ran = verify(&["--store", "nowhere"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (5, ""), "{ran:?}");
    assert!(ran.stderr.contains("absent") && ran.stderr.contains(&entry.sha256), "{ran:?}");
    let ran = verify(&["--store", "s3://bucket"]);
    assert_eq!(ran.status, 2, "{ran:?}");
}
