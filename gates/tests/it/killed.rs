//! The runner killed without a chance to act, at many moments: the store stays whole, and what it started ends.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Process, STRICT, Workspace, children_of, subject_answers};

/// Moments at which the runner is killed.
const MOMENTS: u64 = 30;

#[test]
fn a_kill_leaves_a_store_that_opens_and_no_process() {
    let workspace = Workspace::new(STRICT);
    workspace.slow_engine("0.05");
    let mut whole = 0;
    let mut killed = 0;
    for moment in 0..MOMENTS {
        let mut runner = Command::new(env!("CARGO_BIN_EXE_gate"))
            .args(["run", "tiny", "--golden", "--plumb", "engine-mock/plumb", "--cache", "cache"])
            .current_dir(workspace.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
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
