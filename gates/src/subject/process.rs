//! The subject as a child process: lines in, lines out, a deadline, and no child left behind.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Question, RawAnswer, SubjectError, Transport};

/// How much of standard error a message shows.
const STDERR_SHOWN_BYTES: usize = 2000;

/// How often a running child is looked at.
const POLL: Duration = Duration::from_millis(5);

/// Process ids of living subjects, for Ctrl-C.
static LIVING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Starts the binary anew for every question.
#[derive(Debug, Clone)]
pub struct ProcessTransport {
    /// The `plumb` binary.
    pub path: PathBuf,
}

impl Transport for ProcessTransport {
    fn ask(&self, question: &Question, budget: Duration) -> Result<RawAnswer, SubjectError> {
        let verb = question.verb.as_str();
        let mut child = Command::new(&self.path)
            .arg(verb)
            .args(&question.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| SubjectError::Start { path: self.path.clone(), source })?;
        let living = Living::of(&child);
        let input = question.lines.iter().fold(String::new(), |text, line| text + line + "\n");
        let answer = converse(&mut child, input, verb, budget);
        drop(living);
        answer
    }
}

/// Feeds standard input and drains both outputs at once, so that no full pipe can stop the child.
fn converse(
    child: &mut Child,
    input: String,
    verb: &'static str,
    budget: Duration,
) -> Result<RawAnswer, SubjectError> {
    let pipe = |source| SubjectError::Pipe { verb, source };
    let gone = || pipe(std::io::ErrorKind::BrokenPipe.into());
    let mut stdin = child.stdin.take().ok_or_else(gone)?;
    let mut stdout = child.stdout.take().ok_or_else(gone)?;
    let mut stderr = child.stderr.take().ok_or_else(gone)?;
    std::thread::scope(|scope| {
        // A child that ends without reading its input breaks this pipe; its exit status tells the story better.
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        let out = scope.spawn(move || read_all(&mut stdout));
        let err = scope.spawn(move || read_all(&mut stderr));
        let status = wait(child, verb, budget);
        let joined = |handle: std::thread::ScopedJoinHandle<'_, std::io::Result<Vec<u8>>>| {
            handle.join().unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into())).map_err(pipe)
        };
        let (out, err) = (joined(out), joined(err));
        let status = status?;
        Ok(RawAnswer {
            stdout: String::from_utf8_lossy(&out?).into_owned(),
            exit: status.code(),
            stderr_tail: tail(&err?),
        })
    })
}

fn wait(
    child: &mut Child,
    verb: &'static str,
    budget: Duration,
) -> Result<std::process::ExitStatus, SubjectError> {
    let pipe = |source| SubjectError::Pipe { verb, source };
    let deadline = Instant::now() + budget;
    loop {
        if let Some(status) = child.try_wait().map_err(pipe)? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            child.kill().map_err(pipe)?;
            child.wait().map_err(pipe)?;
            return Err(SubjectError::Budget { verb, seconds: budget.as_secs() });
        }
        std::thread::sleep(POLL);
    }
}

fn read_all(pipe: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn tail(bytes: &[u8]) -> String {
    let from = bytes.len().saturating_sub(STDERR_SHOWN_BYTES);
    String::from_utf8_lossy(&bytes[from..]).into_owned()
}

/// Keeps a child on the list of those to stop, for as long as it lives.
struct Living(u32);

impl Living {
    fn of(child: &Child) -> Self {
        LIVING.lock().unwrap_or_else(PoisonError::into_inner).insert(child.id());
        Self(child.id())
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        LIVING.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Stops every living subject; for the Ctrl-C handler.
pub fn stop_all() {
    for pid in LIVING.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        if let Some(pid) = rustix::process::Pid::from_raw(*pid as i32) {
            // It may have ended in between, which is what we want.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}
