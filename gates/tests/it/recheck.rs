//! `gate recheck`: every word again from its evidence alone, and an edited byte noticed.

use std::fs;

use crate::support::{NEAR_TIE, SECOND, STRICT, Workspace, subject_answer, subject_answers};
use gates::facts::Facts;
use gates::kind::activation_fidelity::{FidelityCase, StreamSample};
use gates::kind::comparison::{RowSums, Rows, row_sums};
use gates::kind::inside::InsideSamples;
use gates::recheck::{self, NOT_DERIVED};
use gates::samples::Samples;
use gates::{evidence, judge, kind, spec};
use oracles::golden::Noise;
use records::store::Store;
use records::{Record, Verdict, VerdictWord as Word};
use serde_json::{Value, json};

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

/// Every value of a record in turn, changed: it is named, or it is of those that no evidence tells.
#[test]
fn whatever_follows_from_the_evidence_is_compared() {
    let workspace = diverging(NEAR_TIE);
    workspace.capture(Some(Noise {
        method: "a test".into(),
        runs: 2,
        steps: 8,
        ids_differ: 1,
        logprob_difference_max_mnats: 3.5,
    }));
    let registry = workspace.path("oracles/registry");
    fs::copy(registry.join("llama-cpp.toml"), registry.join("other.toml")).unwrap();
    workspace.gate(&["run", "tiny"]);
    workspace.gate(&["run", "tiny", "--oracle", "other"]);
    let store = Store::open(workspace.path("records")).unwrap();
    let mut named = 0;
    for record in workspace.records() {
        assert_eq!(recheck::recheck(&store, &record).unwrap().differences, [""; 0]);
        let whole = serde_json::to_value(&record).unwrap();
        let mut paths = Vec::new();
        leaves(&whole, "", &mut paths);
        // Its own digests are asked in the test above.
        paths.retain(|path| !path.starts_with("/evidence/"));
        for path in paths {
            let mut edited = whole.clone();
            change(edited.pointer_mut(&path).unwrap());
            // What is no record any more is not even read.
            let Ok(edited) = serde_json::from_value::<Record>(edited) else { continue };
            let found = recheck::recheck(&store, &edited).map(|found| found.differences);
            let noticed = found.is_err() || found.is_ok_and(|found| !found.is_empty());
            assert_eq!(noticed, !is_left_out(&whole, &path), "{path}");
            named += u32::from(noticed);
        }
    }
    assert!(named > 80, "{named} values are compared");
}

/// Whether it belongs to one of [`NOT_DERIVED`].
fn is_left_out(record: &Value, path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    let field = parts.next().unwrap_or_default();
    let at = parts.next().and_then(|at| at.parse::<usize>().ok());
    let number = at.and_then(|at| record[field][at]["metric"].as_str());
    let number = number.map(|metric| format!("{field} {metric}"));
    let is_listed = |name: &str| NOT_DERIVED.contains(&name);
    is_listed(field) || number.is_some_and(|number| is_listed(&number))
}

/// JSON pointers to all values that hold no others.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                leaves(
                    value,
                    &format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                leaves(value, &format!("{path}/{index}"), found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}

/// Another value of the same type, where there is one.
fn change(value: &mut Value) {
    *value = match value {
        Value::Null => json!("0".repeat(64)),
        Value::Bool(is) => json!(!*is),
        Value::Number(number) if number.is_u64() => json!(number.as_u64().unwrap() + 1),
        Value::Number(number) => json!(number.as_f64().unwrap() + 1.0),
        Value::String(text) => match text.strip_prefix('0') {
            Some(rest) => json!(format!("1{rest}")),
            None => json!(format!("0{}", text.get(1..).unwrap_or_default())),
        },
        Value::Array(_) => json!(["0"]),
        Value::Object(_) => json!({ "0": "0" }),
    };
}

/// One value of ours is NaN: the engine fails, and its evidence says so again.
#[test]
fn a_value_that_is_no_number_fails_again() {
    let workspace = Workspace::new(STRICT);
    workspace.gate(&["run", "tiny"]);
    let ran = workspace.records().remove(0);
    let text = include_str!("../../specs/qwen3-tiny-activations.toml");
    let spec = spec::parse(text, "tiny.toml".as_ref()).unwrap();
    let want = Rows { width: 2, values: vec![3.0, 4.0, 6.0, 8.0] };
    for broken in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let got = Rows { values: vec![3.0, 4.0, broken, 8.0], ..want.clone() };
        let edited = RowSums { error: 50.0, want: 100.0, got: 100.0, dot: 75.0 };
        let case = |id: &str, got: &Rows| FidelityCase {
            id: id.into(),
            edited: format!("{id}-edited"),
            from: 1,
            values: Ok(vec![StreamSample {
                name: "layer.1".into(),
                rows: Ok(row_sums(got, &want)),
                edited,
            }]),
        };
        let cases = vec![case("river", &want), case("count", &got)];
        let collected = Ok(Samples::Inside(Box::new(InsideSamples::Fidelity(cases))));
        let facts = Facts { gate: "tiny".into(), ..Facts::default() };
        let judgement = judge::judge(&spec, &collected, &facts, None);
        assert_eq!((judgement.word, judgement.compared), (Word::Fail, 2));
        assert!(judgement.reason.contains("is no number"), "{}", judgement.reason);
        let store = Store::open(workspace.path("records")).unwrap();
        let mut draft = store.begin("tiny").unwrap();
        for file in evidence::of(text, &collected, &facts, None, None) {
            draft.evidence(file.name, &file.bytes(str::to_owned)).unwrap();
        }
        let path = draft.commit(Record {
            kinds: kind::names(&spec).into_iter().map(str::to_owned).collect(),
            spec_sha256: oracles::digest::sha256_bytes(text.as_bytes()),
            verdict: Verdict {
                word: judgement.word,
                rules: judgement.rules.iter().map(|rule| rule.id().to_owned()).collect(),
                reason: judgement.reason.clone(),
            },
            compared: judgement.compared,
            measurements: judgement.measurements,
            divergences: judgement.divergences,
            ..ran.clone()
        });
        let id = path.unwrap().file_stem().unwrap().to_string_lossy().into_owned();
        let again = workspace.gate_with(&["recheck", &id], &[]);
        let line = format!("{id} FAIL: {}\n", judgement.reason);
        assert_eq!((again.status, again.stdout), (0, line), "{}", again.stderr);
    }
}
