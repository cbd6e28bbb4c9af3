//! What a golden must be to judge by: of this gate, whole, launched as today, named by the record, and not edited since.

use std::fs;

use oracles::golden::Noise;
use serde_json::{Value, json};

use crate::support::{STRICT, Workspace};
use records::VerdictWord as Word;

/// A change to a manifest.
type Edit = Box<dyn Fn(&mut Value)>;
/// What becomes of a workspace's golden.
type Damage<'a> = &'a dyn Fn(&Workspace);

/// The last record.
fn last(workspace: &Workspace) -> records::Record {
    workspace.records().into_iter().max_by_key(|record| record.started_at).unwrap()
}

/// The rules and the reason of a run that must be void.
fn void(workspace: &Workspace) -> (Vec<String>, String) {
    let ran = workspace.gate(&["run", "tiny"]);
    let record = last(workspace);
    assert_eq!((ran.status, record.verdict.word), (4, Word::Void), "{ran:?}");
    assert!(record.measurements.iter().all(|number| number.metric.name().ends_with("_ms")));
    (record.verdict.rules, record.verdict.reason)
}

fn noise() -> Noise {
    Noise {
        method: "the shared prefix as one prompt".to_owned(),
        runs: 2,
        steps: 108,
        ids_differ: 1,
        logprob_difference_max_mnats: 889.413_8,
    }
}

#[test]
fn a_golden_of_another_launch_voids() {
    let flag = |name: &'static str, value: &'static str| {
        move |manifest: &mut Value| {
            let flags = manifest["oracle"]["flags"].as_array_mut().unwrap();
            let at = flags.iter().position(|flag| flag == name).unwrap();
            flags[at + 1] = json!(value);
        }
    };
    let cases: [(&str, Edit); 4] = [
        ("V-WORKLOAD", Box::new(flag("--threads", "4"))),
        ("V-WORKLOAD", Box::new(flag("--ctx-size", "512"))),
        ("V-PIN", Box::new(flag("--parallel", "4"))),
        ("V-PIN", Box::new(|manifest| manifest["environment"]["LC_ALL"] = json!("de_DE"))),
    ];
    for (rule, change) in cases {
        let workspace = Workspace::new(STRICT);
        workspace.edit_manifest(change);
        let (rules, reason) = void(&workspace);
        assert_eq!(rules, [rule], "{reason}");
        assert!(reason.contains("capture it again"), "{reason}");
    }
    for launch in ["[launch]\nthreads = 2\n", "[launch]\ncontext = 8192\n"] {
        let workspace = Workspace::new(STRICT);
        workspace.write_spec("tiny", &format!("{launch}{STRICT}"));
        assert_eq!(void(&workspace).0, ["V-WORKLOAD"]);
    }
}

/// Each defect of a golden has the golden's rule, a path inside the workspace, and something to do.
#[test]
fn a_golden_that_cannot_be_used_voids_by_its_own_rule() {
    let cases = |workspace: &Workspace| workspace.golden().join("cases.jsonl");
    let manifest = |workspace: &Workspace| workspace.golden().join("manifest.json");
    let defects: [(&str, Damage<'_>); 7] = [
        ("found nothing", &|workspace| fs::remove_file(cases(workspace)).unwrap()),
        ("expected sha256", &|workspace| fs::write(cases(workspace), "{}\n").unwrap()),
        ("cannot be read", &|workspace| {
            fs::remove_file(cases(workspace)).unwrap();
            fs::create_dir(cases(workspace)).unwrap();
        }),
        ("manifest.json: ", &|workspace| {
            fs::write(manifest(workspace), "not json").unwrap();
        }),
        ("schema_version 1, found 9", &|workspace| {
            workspace.edit_manifest(|manifest| manifest["schema_version"] = json!(9));
        }),
        ("lists no cases.jsonl", &|workspace| {
            workspace.edit_manifest(|manifest| manifest["files"] = json!([]));
        }),
        ("captured for gate other", &|workspace| {
            workspace.edit_manifest(|manifest| manifest["gate"] = json!("other"));
        }),
    ];
    for (told, damage) in defects {
        let workspace = Workspace::new(STRICT);
        damage(&workspace);
        let (rules, reason) = void(&workspace);
        assert_eq!(rules, ["V-GOLDEN"], "{reason}");
        assert!(reason.contains("`gate capture tiny`"), "{reason}");
        assert!(reason.contains(told), "{told}: {reason}");
        let root = workspace.path("").display().to_string();
        assert!(!reason.contains(root.trim_end_matches('/')), "{reason}");
    }
}

#[test]
fn a_record_names_the_golden_it_was_judged_by() {
    let workspace = Workspace::new(STRICT);
    let ran = workspace.gate(&["run", "tiny"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let manifest = fs::read(workspace.golden().join("manifest.json")).unwrap();
    let sha256 = oracles::digest::sha256_bytes(&manifest);
    assert_eq!(last(&workspace).oracle.unwrap().golden_sha256.as_deref(), Some(sha256.as_str()));
    assert!(ran.stdout.contains(&format!("(manifest {})", &sha256[..12])), "{}", ran.stdout);
}

/// A hand-made golden: the answers and the digests that vouch for them, without a capture.
#[test]
fn an_edited_golden_is_noticed_and_a_captured_one_is_none() {
    let workspace = Workspace::new(STRICT);
    assert_eq!(workspace.gate(&["run", "tiny"]).status, 0);
    assert_eq!(workspace.gate_with(&["records", "verify"], &[]).status, 0);
    let cases = workspace.golden().join("cases.jsonl");
    let text = fs::read_to_string(&cases).unwrap().replace("101", "105");
    fs::write(&cases, &text).unwrap();
    let damaged = workspace.gate_with(&["records", "verify"], &[]);
    assert_eq!(damaged.status, 4, "{damaged:?}");
    assert!(damaged.stderr.contains("is damaged"), "{}", damaged.stderr);
    workspace.edit_manifest(|manifest| {
        manifest["files"][0]["sha256"] = json!(oracles::digest::sha256_bytes(text.as_bytes()));
    });
    let edited = workspace.gate_with(&["records", "verify"], &[]);
    assert_eq!(edited.status, 4, "{edited:?}");
    assert!(edited.stderr.contains("was edited since"), "{}", edited.stderr);
    // A second later a capture has another time.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    workspace.capture(None);
    assert_eq!(workspace.gate_with(&["records", "verify"], &[]).status, 0);
}

#[test]
fn the_oracles_own_noise_stands_beside_our_numbers() {
    let workspace = Workspace::without_golden(STRICT);
    workspace.capture(Some(noise()));
    let line = "noise        the oracle against itself: largest difference 889.414 milli-nats, 1 of 108 choices changed \
                (the shared prefix as one prompt)";
    let ran = workspace.gate(&["run", "tiny"]);
    assert!(ran.stdout.lines().any(|found| found == line), "{}", ran.stdout);
    let number = |name: &str| {
        let record = last(&workspace);
        let found = record.measurements.into_iter().find(|number| number.metric.name() == name);
        found.map(|number| (number.value, number.n))
    };
    assert_eq!(number("oracle_noise_mnats"), Some((Some(889.413_8), 108)));
    assert_eq!(number("oracle_flips"), Some((Some(1.0), 1)));
    let json: Value =
        serde_json::from_str(&workspace.gate(&["run", "tiny", "--json"]).stdout).unwrap();
    assert_eq!(json["runs"][0]["oracle_noise"]["ids_differ"], 1);
    let explained = workspace.gate_with(&["explain", "tiny"], &[]).stdout;
    let words: Vec<&str> = explained.split_whitespace().collect();
    let told = words.join(" ");
    assert!(
        told.contains("largest difference 889.414 milli-nats, 1 of 108 choices"),
        "{explained}"
    );
    // Nothing of it beside a run that compared nothing.
    workspace.edit_manifest(|manifest| manifest["gate"] = json!("other"));
    assert!(!workspace.gate(&["run", "tiny"]).stdout.contains("noise"));
    assert_eq!(number("oracle_noise_mnats"), None);
}
