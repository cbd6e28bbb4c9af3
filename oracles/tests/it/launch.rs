//! Launching: readiness, death, refusal, and that nothing outlives us.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oracles::launch::{LaunchError, LaunchSettings, Server, launch};
use oracles::provision::ProvisionError;
use oracles::verbs::{CompletionRequest, FinishReason, Oracle, VerbError};
use oracles::{Error, Progress};

use crate::fixture::{Place, example, installation, model, workspace};

fn settings(fault: &str) -> LaunchSettings {
    LaunchSettings {
        arguments: vec!["--stand-in".to_owned(), fault.to_owned()],
        ready_timeout: Duration::from_secs(20),
        request_timeout: Duration::from_secs(20),
        ..LaunchSettings::default()
    }
}

fn start(place: &Place, settings: &LaunchSettings) -> oracles::Result<Server> {
    launch(&place.home, &installation(place), &model(place), settings, Progress::Silent)
}

fn failed(place: &Place, settings: &LaunchSettings) -> LaunchError {
    match start(place, settings) {
        Err(Error::Launch(error)) => error,
        other => panic!("expected a launch error, found {other:?}"),
    }
}

/// Whether the process exists and is more than a zombie.
fn alive(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

fn ends(id: u32) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if !alive(id) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn request() -> CompletionRequest {
    CompletionRequest { prompt_ids: vec![1], max_tokens: 1, top_logprobs: 0, ignore_eos: false }
}

#[test]
fn a_server_is_ready_and_says_who_it_is() {
    let place = Place::new();
    let mut server = start(&place, &settings("nothing")).unwrap();
    let identity = server.identity().clone();
    assert_eq!(identity.name, "llama-cpp");
    assert_eq!(identity.settings["n_ctx"], "4096");
    assert_eq!(identity.settings["n_threads_batch"], "1");
    assert_eq!(identity.settings["flash_attn_resolved"], "enabled");
    assert_eq!(identity.settings["kv_type_k"], "f16");
    assert_eq!(identity.build["build_info"], "b1-0c1e570");
    assert_eq!(identity.build["version"], "1.0 (build 1, commit 0c1e570)");
    assert_eq!(identity.build["cc"], "cc 1");
    assert_eq!(identity.cpu_features.len(), 10);
    assert!(identity.cpu_features.contains(&"SSE3".to_owned()));
    assert_eq!(server.tokenize("ab", false, false).unwrap(), [1, 2]);
    let completion = server.complete(&request()).unwrap();
    assert_eq!((completion.ids, completion.finish_reason), (vec![2], FinishReason::Length));
    let error = server.detokenize(&[99]).unwrap_err();
    assert!(
        matches!(&error, VerbError::Refused { status: 400, message, .. } if message == "no such token")
    );
    let id = server.process_id().unwrap();
    assert!(alive(id));
    drop(server);
    assert!(!alive(id));
}

#[test]
fn death_at_the_start_is_told_with_the_last_lines() {
    let place = Place::new();
    let started = Instant::now();
    match failed(&place, &settings("die-at-start")) {
        LaunchError::Died { status, tail, .. } => {
            assert!(status.contains('7'), "{status}");
            assert_eq!(tail, "stand-in: cannot load the model");
        }
        other => panic!("{other}"),
    }
    assert!(started.elapsed() < Duration::from_secs(10), "noticed at once, not at the timeout");
}

#[test]
fn death_while_answering_gives_no_partial_answer() {
    let place = Place::new();
    let mut server = start(&place, &settings("die-while-answering")).unwrap();
    match server.complete(&request()).unwrap_err() {
        VerbError::Died { verb: "complete", status, tail, .. } => {
            assert!(status.contains('9'), "{status}");
            assert!(tail.ends_with("stand-in: out of memory"), "{tail}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn an_answer_that_takes_too_long_is_an_error() {
    let place = Place::new();
    let patience = Duration::from_millis(1500);
    let settings = LaunchSettings { request_timeout: patience, ..settings("hang") };
    let mut server = start(&place, &settings).unwrap();
    let error = server.complete(&request()).unwrap_err();
    assert!(
        matches!(&error, VerbError::Transport { reason, .. } if reason == "it took too long"),
        "{error}"
    );
}

#[test]
fn never_ready_ends_at_the_timeout() {
    let place = Place::new();
    let settings =
        LaunchSettings { ready_timeout: Duration::from_secs(1), ..settings("never-ready") };
    let error = failed(&place, &settings);
    assert!(matches!(&error, LaunchError::NotReady { seconds: 1, .. }), "{error}");
}

#[test]
fn what_contradicts_the_pin_is_refused() {
    let place = Place::new();
    let cases = [("avx512", "cpu features"), ("context", "n_ctx"), ("commit", "build_info")];
    for (fault, expected) in cases {
        match failed(&place, &settings(fault)) {
            LaunchError::Contradiction { key, .. } => assert_eq!(key, expected),
            other => panic!("{fault}: {other}"),
        }
    }
}

#[test]
fn a_taken_port_is_named() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let place = Place::new();
    let error = failed(&place, &LaunchSettings { port: Some(port), ..settings("nothing") });
    assert!(
        matches!(&error, LaunchError::PortInUse { port: found, .. } if *found == port),
        "{error}"
    );
}

#[test]
fn a_changed_executable_is_not_started() {
    let place = Place::new();
    let oracle = installation(&place);
    let path = oracle.executable("llama-server");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let error =
        launch(&place.home, &oracle, &model(&place), &settings("nothing"), Progress::Silent)
            .unwrap_err();
    match error {
        Error::Provision(ProvisionError::Changed { path: named, .. }) => assert_eq!(named, path),
        other => panic!("{other}"),
    }
}

#[test]
fn a_folder_is_not_a_checkpoint_of_this_oracle() {
    let place = Place::new();
    let mut checkpoint = model(&place);
    checkpoint.path = place.dir.path().to_path_buf();
    let error = launch(
        &place.home,
        &installation(&place),
        &checkpoint,
        &settings("nothing"),
        Progress::Silent,
    );
    assert!(matches!(error, Err(Error::Launch(LaunchError::Checkpoint { .. }))));
}

fn grandchild(log: &Path) -> u32 {
    let log = fs::read_to_string(log).unwrap();
    log.lines().find_map(|line| line.strip_prefix("grandchild ")).unwrap().parse().unwrap()
}

#[test]
fn the_whole_group_ends_with_the_server() {
    let place = Place::new();
    let server = start(&place, &settings("grandchild")).unwrap();
    let (child, grandchild) = (server.process_id().unwrap(), grandchild(server.log()));
    assert!(alive(child) && alive(grandchild));
    drop(server);
    assert!(ends(child) && ends(grandchild));
}

#[test]
fn a_panic_leaves_no_orphan() {
    let place = Place::new();
    let server = start(&place, &settings("nothing")).unwrap();
    let id = server.process_id().unwrap();
    let thread = std::thread::spawn(move || {
        let _server = server;
        panic!("as planned");
    });
    thread.join().unwrap_err();
    assert!(ends(id));
}

#[test]
fn being_killed_leaves_no_orphan() {
    let place = Place::new();
    let oracle = installation(&place);
    let mut parent = Command::new(example("launch_and_wait"))
        .args([&workspace(), &place.home.cache, &oracle.dir, &model(&place).path])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let server: u32 = line.trim().parse().unwrap();
    assert!(alive(server));
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert!(ends(server), "the server {server} outlived its parent");
}
