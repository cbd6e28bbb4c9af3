//! Goldens: written from an oracle's answers, refused when a byte changed.

use std::collections::BTreeMap;
use std::fs;

use oracles::checkpoint::Checkpoint;
use oracles::digest::sha256_bytes;
use oracles::golden::tensors::TensorGolden;
use oracles::golden::{Capture, Golden, GoldenError, GoldenPrompt};
use oracles::mock::{Completed, MockAnswers, MockOracle};
use oracles::verbs::{Completion, CompletionRequest, FinishReason, Identity, Step};
use oracles::{Error, Progress};

use crate::fixture::Place;

fn prompts() -> Vec<GoldenPrompt> {
    (0..3)
        .map(|n| GoldenPrompt {
            id: format!("p{n}"),
            prompt_text: format!("prompt {n}"),
            prompt_ids: vec![n, n + 1],
            max_tokens: 1,
            top_logprobs: 2,
            ignore_eos: false,
        })
        .collect()
}

fn mock(dies_after: Option<u64>) -> MockOracle {
    let complete = prompts()
        .iter()
        .map(|prompt| Completed {
            request: CompletionRequest {
                prompt_ids: prompt.prompt_ids.clone(),
                max_tokens: 1,
                top_logprobs: 2,
                ignore_eos: false,
            },
            completion: Completion {
                ids: vec![7042],
                text: " Paris".to_owned(),
                finish_reason: FinishReason::Length,
                steps: vec![Step {
                    id: 7042,
                    logprob: Some(-0.258_899_9),
                    top: vec![(7042, -0.258_899_9), (260, -2.764_557)],
                }],
            },
        })
        .collect();
    let identity = Identity {
        name: "mock".to_owned(),
        version: "1".to_owned(),
        source_sha256: String::new(),
        binary_sha256: String::new(),
        build: BTreeMap::new(),
        flags: Vec::new(),
        cpu_features: Vec::new(),
        settings: BTreeMap::new(),
    };
    MockOracle::new(MockAnswers {
        identity,
        tokenize: Vec::new(),
        detokenize: Vec::new(),
        render_chat: Vec::new(),
        complete,
        dies_after,
    })
}

fn capture(place: &Place, oracle: &mut MockOracle) -> oracles::Result<Golden> {
    let checkpoint = Checkpoint {
        name: "model".to_owned(),
        path: "model.gguf".into(),
        sha256: "ab".to_owned(),
        bytes: 1,
    };
    let capture = Capture {
        gate: "greedy",
        checkpoint: &checkpoint,
        prompts_sha256: "cd",
        environment: Some(&BTreeMap::from([("LC_ALL".to_owned(), "C".to_owned())])),
        prompts: &prompts(),
        noise: None,
    };
    Golden::capture(&place.home, oracle, &capture, Progress::Silent)
}

#[test]
fn what_was_captured_is_read() {
    let place = Place::new();
    assert_eq!(Golden::read(&place.home, "mock", "greedy").unwrap(), None);
    let captured = capture(&place, &mut mock(None)).unwrap();
    let read = Golden::read(&place.home, "mock", "greedy").unwrap().unwrap();
    assert_eq!(read, captured);
    assert_eq!(read.cases.len(), 3);
    assert_eq!(read.manifest.checkpoint.sha256, "ab");
    assert_eq!(read.manifest.environment.unwrap()["LC_ALL"], "C");
    let manifest = fs::read(place.home.golden_dir("mock", "greedy").join("manifest.json")).unwrap();
    assert_eq!(read.sha256, sha256_bytes(&manifest));
}

#[test]
fn an_oracle_that_dies_half_way_leaves_no_golden() {
    let place = Place::new();
    let error = capture(&place, &mut mock(Some(2))).unwrap_err();
    assert!(matches!(error, Error::Verb(_)), "{error}");
    assert!(!place.home.golden_dir("mock", "greedy").exists());
}

#[test]
fn a_changed_byte_is_refused() {
    let place = Place::new();
    capture(&place, &mut mock(None)).unwrap();
    let path = place.home.golden_dir("mock", "greedy").join("cases.jsonl");
    let text = fs::read_to_string(&path).unwrap().replacen("7042", "7043", 1);
    fs::write(&path, text).unwrap();
    let error = Golden::read(&place.home, "mock", "greedy").unwrap_err();
    assert!(
        matches!(&error, Error::Golden(GoldenError::Changed { path: named, .. }) if *named == path),
        "{error}"
    );
}

#[test]
fn an_unknown_key_is_refused() {
    let place = Place::new();
    capture(&place, &mut mock(None)).unwrap();
    let path = place.home.golden_dir("mock", "greedy").join("manifest.json");
    let text = fs::read_to_string(&path).unwrap().replacen('{', r#"{"subject":1,"#, 1);
    fs::write(&path, text).unwrap();
    let error = Golden::read(&place.home, "mock", "greedy").unwrap_err();
    assert!(error.to_string().contains("subject"), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_the_goldens_error() {
    let place = Place::new();
    capture(&place, &mut mock(None)).unwrap();
    let path = place.home.golden_dir("mock", "greedy").join("cases.jsonl");
    fs::remove_file(&path).unwrap();
    let error = Golden::read(&place.home, "mock", "greedy").unwrap_err();
    assert!(
        matches!(&error, Error::Golden(GoldenError::Changed { found, .. }) if found == "nothing"),
        "{error}"
    );
    // A folder in the place of a file cannot be read by anyone, root included.
    fs::create_dir(&path).unwrap();
    let error = Golden::read(&place.home, "mock", "greedy").unwrap_err();
    assert!(
        matches!(&error, Error::Golden(GoldenError::Read { path: named, .. }) if *named == path),
        "{error}"
    );
}

/// The goldens of this workspace are older than the environment's field, and read all the same.
#[test]
fn every_golden_of_the_workspace_is_whole() {
    let home = oracles::Home { root: crate::fixture::workspace(), cache: "unused".into() };
    let mut read = 0;
    for oracle in fs::read_dir(home.root.join("oracles/goldens")).unwrap() {
        // A file there is none of an oracle's.
        let Ok(gates) = fs::read_dir(oracle.unwrap().path()) else { continue };
        for gate in gates {
            let folder = gate.unwrap().path();
            if folder.join("tensors.jsonl").is_file() {
                assert!(!TensorGolden::read_dir(&folder).unwrap().unwrap().answers.is_empty());
            } else {
                assert!(!Golden::read_dir(&folder).unwrap().unwrap().cases.is_empty());
            }
            read += 1;
        }
    }
    assert!(read >= 2, "{read}");
}
