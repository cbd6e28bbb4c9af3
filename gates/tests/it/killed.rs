//! The runner killed without a chance to act, at many moments: the store stays whole, and what it started ends.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{NEAR_TIE, Process, STRICT, Workspace, children_of, subject_answers};

/// Moments at which the runner is killed.
const MOMENTS: u64 = 30;

/// A run of gate `tiny` on its golden.
fn runner(workspace: &Workspace) -> Child {
    Command::new(env!("CARGO_BIN_EXE_gate"))
        .args(["run", "tiny", "--golden", "--plumb", "engine-mock/plumb", "--cache", "cache"])
        .current_dir(workspace.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_kill_leaves_a_store_that_opens_and_no_process() {
    let workspace = Workspace::new(STRICT);
    workspace.slow_engine("0.05");
    let mut whole = 0;
    let mut killed = 0;
    for moment in 0..MOMENTS {
        let mut runner = runner(&workspace);
        // Between nothing and a little more than a whole run, in an order that is no order.
        thread::sleep(Duration::from_millis(moment * 7 % MOMENTS * 14));
        let engines = children_of(runner.id());
        killed += u64::from(runner.try_wait().unwrap().is_none());
        runner.kill().unwrap();
        runner.wait().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while engines.iter().any(Process::is_alive) {
            assert!(Instant::now() < deadline, "an engine outlives its runner: {engines:?}");
            thread::sleep(Duration::from_millis(20));
        }
        let ran = workspace.gate_with(&["records", "verify"], &[]);
        assert_eq!(ran.status, 0, "{ran:?}");
        let now = workspace.records().len();
        assert!(now == whole || now == whole + 1, "{whole} records became {now}");
        whole = now;
    }
    assert!(killed > MOMENTS / 3, "only {killed} runs were still alive when they were killed");
    // What the killed runs left hidden does not stop the next one.
    workspace.answer("generate", &subject_answers());
    assert_eq!(workspace.gate(&["run", "tiny"]).status, 0);
    assert_eq!(workspace.records().len(), whole + 1);
}

/// The journals of runs that are not on record.
fn journals(workspace: &Workspace) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(workspace.path("cache/runs")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_run_that_was_killed_goes_on_where_it_was() {
    let workspace = Workspace::new(NEAR_TIE);
    // The first question is answered at once, the second takes longer than the runner lives.
    let script = workspace.path("engine-mock/plumb");
    let hang =
        "if [ $name = forced ] && [ -e \"$here/hang\" ]; then sleep 30; fi\necho \"answering";
    let text = std::fs::read_to_string(&script).unwrap().replace("echo \"answering", hang);
    std::fs::write(&script, text).unwrap();
    workspace.write("engine-mock/hang", "");
    let mut runner = runner(&workspace);
    let deadline = Instant::now() + Duration::from_secs(20);
    let lines =
        |path: &PathBuf| std::fs::read_to_string(path).map_or(0, |text| text.lines().count());
    while journals(&workspace).iter().map(lines).sum::<usize>() < 2 {
        assert!(Instant::now() < deadline, "the first answer is not kept");
        thread::sleep(Duration::from_millis(20));
    }
    runner.kill().unwrap();
    runner.wait().unwrap();
    assert_eq!(workspace.records().len(), 0);
    // Another oracle's run is another run: it begins, ends, and leaves this one's answers.
    let registry = workspace.path("oracles/registry");
    std::fs::copy(registry.join("llama-cpp.toml"), registry.join("other.toml")).unwrap();
    let crossed = workspace.gate(&["run", "tiny", "--oracle", "other", "--records", "elsewhere"]);
    assert_eq!(crossed.status, 5, "{crossed:?}");
    assert!(!crossed.stderr.contains("interrupted"), "{crossed:?}");

    // Whoever asked the first question again would hear nothing now.
    std::fs::remove_file(workspace.path("engine-mock/hang")).unwrap();
    workspace.exits("generate", "1");
    let resumed = workspace.gate(&["run", "tiny", "--golden", "--resume"]);
    assert_eq!(resumed.status, 0, "{resumed:?}");
    assert!(resumed.stderr.contains("going on with 1 answer"), "{resumed:?}");
    let records = workspace.records();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].resumed_answers, Some(1));
    assert!(journals(&workspace).is_empty());
    let anew = workspace.gate(&["run", "tiny", "--golden", "--resume"]);
    assert_eq!(anew.status, 1, "{anew:?}");
    assert!(anew.stderr.contains("no run of tiny was interrupted"), "{anew:?}");
}

/// A run that was stopped on another machine, or under another spec: its answers are not this run's.
#[test]
fn another_comparison_does_not_go_on() {
    let workspace = Workspace::new(NEAR_TIE);
    let script = workspace.path("engine-mock/plumb");
    let text = std::fs::read_to_string(&script).unwrap();
    let hang =
        "if [ $name = forced ] && [ -e \"$here/hang\" ]; then sleep 30; fi\necho \"answering";
    std::fs::write(&script, text.replace("echo \"answering", hang)).unwrap();
    workspace.write("engine-mock/hang", "");
    let mut runner = runner(&workspace);
    let deadline = Instant::now() + Duration::from_secs(20);
    let kept =
        || journals(&workspace).pop().map(|path| (std::fs::read_to_string(&path).unwrap(), path));
    let (text, journal) = loop {
        match kept().filter(|(text, _)| text.lines().count() == 2) {
            Some(kept) => break kept,
            None => assert!(Instant::now() < deadline, "the first answer is not kept"),
        }
        thread::sleep(Duration::from_millis(20));
    };
    runner.kill().unwrap();
    runner.wait().unwrap();
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((&header["gate"], &header["oracle"]), (&"tiny".into(), &"llama-cpp".into()));
    let keys = [
        ("spec_sha256", "another spec"),
        ("harness_sha256", "another harness"),
        ("oracle_sha256", "another definition of its oracle"),
        ("checkpoint_sha256", "another checkpoint"),
        ("host", "another machine"),
    ];
    for (key, words) in keys {
        let mut other = header.clone();
        let value =
            if key == "host" { &mut other["host"]["machine_id_sha256"] } else { &mut other[key] };
        *value = "x".into();
        std::fs::write(&journal, text.replacen(&header.to_string(), &other.to_string(), 1))
            .unwrap();
        let refused = workspace.gate(&["run", "tiny", "--golden", "--resume"]);
        assert_eq!(refused.status, 2, "{refused:?}");
        assert!(refused.stderr.contains(words), "{refused:?}");
    }
    std::fs::write(&journal, text.replace("\"run\":\"", "\"run\":\"0")).unwrap();
    let refused = workspace.gate(&["run", "tiny", "--golden", "--resume"]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("line 2 is an answer of another run"), "{refused:?}");
    assert!(workspace.records().is_empty());
    std::fs::remove_file(workspace.path("engine-mock/hang")).unwrap();
    let anew = workspace.gate(&["run", "tiny", "--golden"]);
    assert_eq!(anew.status, 0, "{anew:?}");
    assert!(anew.stderr.contains("--resume would have gone on"), "{anew:?}");
}
