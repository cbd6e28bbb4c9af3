//! Child processes in groups of their own, which end with us however we end.
//!
//! A dropped [`Group`] (also by a panic) is stopped; [`stop_all`] is for a signal handler; and when
//! we are killed without a chance to act, a watchdog sees the pipe from us close and stops the
//! group. (The kernel's parent-death signal would need code between fork and exec, which is not
//! safe, and fires when the starting *thread* ends.)

use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// How long a group may take to end by itself after it was asked to.
const GRACE: Duration = Duration::from_secs(5);
/// How often a state is looked at.
pub(crate) const POLL: Duration = Duration::from_millis(20);

/// Reads until our end of the pipe closes, then asks the group to end, then makes it.
const WATCHDOG: &str = r#"
while read -r _; do :; done
kill -s TERM -- "-$1" 2>/dev/null || exit 0
sleep 5
kill -s KILL -- "-$1" 2>/dev/null
"#;

static LIVE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn live() -> MutexGuard<'static, BTreeSet<i32>> {
    // The set is valid after every statement, so a panic elsewhere does not spoil it.
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child that leads its own process group.
#[derive(Debug)]
pub struct Group {
    pub(crate) child: Child,
    leader: Pid,
    watchdog: Option<Child>,
}

impl Group {
    /// Starts `command` as the leader of a new group, without standard input.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        Self::spawn_with_stdin(command.stdin(Stdio::null()))
    }

    /// Starts `command` as the leader of a new group, with the standard input that it has.
    pub(crate) fn spawn_with_stdin(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let leader = Pid::from_child(&child);
        live().insert(leader.as_raw_pid());
        let mut group = Self { child, leader, watchdog: None };
        // From here on an error drops the group, which stops the child.
        group.watchdog = Some(watch(leader)?);
        Ok(group)
    }

    /// The leader's process id, which is also the group's.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How the leader ended, if it did.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits until the leader ends.
    pub(crate) fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// Asks the whole group to end, waits, and makes it. Idempotent.
    pub fn stop(&mut self) {
        if !live().remove(&self.leader.as_raw_pid()) {
            return;
        }
        // An error means that there is no such group any more.
        let _ = kill_process_group(self.leader, Signal::TERM);
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline && !matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
            thread::sleep(POLL);
        }
        // The leader may have ended and left others behind.
        let _ = kill_process_group(self.leader, Signal::KILL);
        let _ = self.child.wait();
        if let Some(mut watchdog) = self.watchdog.take() {
            let _ = watchdog.kill();
            let _ = watchdog.wait();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.stop();
    }
}

fn watch(leader: Pid) -> io::Result<Child> {
    Command::new("/bin/sh")
        .args(["-c", WATCHDOG, "watchdog", &leader.as_raw_pid().to_string()])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

/// Stops every live group: for a signal handler's thread, before the program ends. Idempotent.
pub fn stop_all() {
    let leaders: Vec<Pid> = live().iter().filter_map(|raw| Pid::from_raw(*raw)).collect();
    for leader in &leaders {
        let _ = kill_process_group(*leader, Signal::TERM);
    }
    let deadline = Instant::now() + GRACE;
    // A leader that ended and was not waited for still counts; it is then killed in vain.
    while Instant::now() < deadline
        && leaders.iter().any(|leader| test_kill_process_group(*leader).is_ok() && !zombie(*leader))
    {
        thread::sleep(POLL);
    }
    for leader in &leaders {
        let _ = kill_process_group(*leader, Signal::KILL);
    }
}

/// Whether the leader has ended and only waits to be reaped (where the system tells).
fn zombie(leader: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", leader.as_raw_pid()));
    // The state follows the name, which is in parentheses and may itself hold any character.
    stat.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}
