//! The subject as a child process: lines in, lines out, a deadline, and no child left behind.
//!
//! It leads a process group of its own: Ctrl-C at the terminal reaches us and not it, so that it cannot end first and be taken
//! for an engine that failed; and whatever it started ends with it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use oracles::Progress;
use oracles::progress::Stage;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tempfile::TempDir;

use super::watch::{self, Watch};
use super::{Question, RawAnswer, SubjectError, Transport, Verb};
use crate::interrupt;

/// How much of standard error a message shows.
const STDERR_SHOWN_BYTES: usize = 2000;

/// How often a running child is looked at.
const POLL: Duration = Duration::from_millis(5);

/// Groups of living subjects, by their leader's id; for Ctrl-C.
static LIVING: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Starts the binary anew for every question.
#[derive(Debug, Clone)]
pub struct ProcessTransport {
    /// The `plumb` binary.
    pub path: PathBuf,
    /// Where it is shown how many of the requests are answered.
    pub progress: Progress,
}

impl Transport for ProcessTransport {
    fn ask(&self, question: &Question, budget: Duration) -> Result<RawAnswer, SubjectError> {
        let verb = question.verb.as_str();
        let foreign_percent = if question.watched { watch::busy_percent() } else { None };
        let written = Written::of(question)
            .map_err(|source| SubjectError::Start { path: self.path.clone(), source })?;
        let started = Instant::now();
        let child = Command::new(&self.path)
            .arg(verb)
            .args(&question.arguments)
            .args(written.arguments())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|source| SubjectError::Start { path: self.path.clone(), source })?;
        let mut living = Living::of(child);
        let input = question.lines.iter().fold(String::new(), |text, line| text + line + "\n");
        let asked = question.lines.len() as u64;
        let progress = if asked == 0 { Progress::Silent } else { self.progress };
        let stage = progress.steps(&format!("plumb {verb}"), Some(asked));
        let mut answer = converse(&mut living, input, stage, Asked { question, started }, budget)?;
        answer.watch.foreign_percent = foreign_percent;
        answer.file = written.read().map_err(|source| SubjectError::Pipe { verb, source })?;
        Ok(answer)
    }
}

/// Where a verb writes that answers with a file: a folder of our own, gone with the answer.
struct Written(Option<TempDir>);

impl Written {
    fn of(question: &Question) -> std::io::Result<Self> {
        Ok(Self(
            matches!(question.verb, Verb::Dump | Verb::Op).then(tempfile::tempdir).transpose()?,
        ))
    }

    fn path(&self) -> Option<PathBuf> {
        self.0.as_ref().map(|folder| folder.path().join("out.safetensors"))
    }

    fn arguments(&self) -> Vec<OsString> {
        self.path().map_or(Vec::new(), |path| vec!["--out".into(), path.into()])
    }

    /// What was written: nothing where the verb failed, which its exit status tells.
    fn read(&self) -> std::io::Result<Vec<u8>> {
        match self.path() {
            Some(path) if path.is_file() => std::fs::read(path),
            _ => Ok(Vec::new()),
        }
    }
}

/// A question and when its process was started.
#[derive(Clone, Copy)]
struct Asked<'a> {
    question: &'a Question,
    started: Instant,
}

/// Feeds standard input and drains both outputs at once, so that no full pipe can stop the child.
fn converse(
    living: &mut Living,
    input: String,
    mut stage: Stage,
    asked: Asked<'_>,
    budget: Duration,
) -> Result<RawAnswer, SubjectError> {
    let Asked { question, started } = asked;
    let verb = question.verb.as_str();
    let pipe = |source| SubjectError::Pipe { verb, source };
    let gone = || pipe(std::io::ErrorKind::BrokenPipe.into());
    let child = &mut living.child;
    let mut stdin = child.stdin.take().ok_or_else(gone)?;
    let mut stdout = child.stdout.take().ok_or_else(gone)?;
    let mut stderr = child.stderr.take().ok_or_else(gone)?;
    std::thread::scope(|scope| {
        // A child that ends without reading its input breaks this pipe; its exit status tells the story better.
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        let out = scope.spawn(move || {
            let mut lines_ms = Vec::new();
            let read = read_all(&mut stdout, |lines| {
                let now = watch::milliseconds(started);
                lines_ms.extend((0..lines).map(|_| now));
                stage.advance(lines);
            });
            read.map(|bytes| (bytes, lines_ms))
        });
        let (ended, end) = mpsc::channel::<()>();
        let group = question.watched.then(|| living.child.id());
        let samples = group.map(|group| scope.spawn(move || watch::sample(group, started, &end)));
        let err = scope.spawn(move || read_all(&mut stderr, |_| ()));
        let status = wait(living, verb, budget);
        drop(ended);
        let (out, err) = (joined(out).map_err(pipe), joined(err).map_err(pipe));
        let resident = samples.and_then(|samples| samples.join().ok()).unwrap_or_default();
        let status = status?;
        let (out, lines_ms) = out?;
        let lines_ms = if question.watched { lines_ms } else { Vec::new() };
        Ok(RawAnswer {
            stdout: String::from_utf8_lossy(&out).into_owned(),
            exit: status.code(),
            stderr_tail: tail(&err?),
            watch: Watch { foreign_percent: None, lines_ms, resident },
            file: Vec::new(),
        })
    })
}

/// What a reader read; one that panicked read nothing.
fn joined<T>(reader: ScopedJoinHandle<'_, std::io::Result<T>>) -> std::io::Result<T> {
    reader.join().unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()))
}

/// Waits for the end of the leader, or ends it; either way its whole group is gone afterwards, and with it every process that
/// could keep our pipes open.
fn wait(
    living: &mut Living,
    verb: &'static str,
    budget: Duration,
) -> Result<ExitStatus, SubjectError> {
    let pipe = |source| SubjectError::Pipe { verb, source };
    let deadline = Instant::now() + budget;
    loop {
        if living.has_ended().map_err(pipe)? {
            return living.stop().map_err(pipe);
        }
        if interrupt::check().is_err() {
            living.stop().map_err(pipe)?;
            return Err(pipe(std::io::ErrorKind::Interrupted.into()));
        }
        if Instant::now() >= deadline {
            living.stop().map_err(pipe)?;
            return Err(SubjectError::Budget { verb, seconds: budget.as_secs() });
        }
        std::thread::sleep(POLL);
    }
}

/// Reads to the end, and tells of each piece how many lines end in it.
fn read_all(pipe: &mut impl Read, mut ended: impl FnMut(u64)) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        let read = match pipe.read(&mut piece) {
            Ok(0) => return Ok(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        bytes.extend_from_slice(&piece[..read]);
        ended(piece[..read].split(|&byte| byte == b'\n').skip(1).count() as u64);
    }
}

fn tail(bytes: &[u8]) -> String {
    let from = bytes.len().saturating_sub(STDERR_SHOWN_BYTES);
    String::from_utf8_lossy(&bytes[from..]).into_owned()
}

/// A child that leads its group, on the list of those to stop for as long as it lives.
struct Living {
    child: Child,
    reaped: bool,
}

impl Living {
    fn of(child: Child) -> Self {
        list().insert(child.id());
        Self { child, reaped: false }
    }

    /// Whether the leader has ended. It is not reaped, so that its id stays the group's.
    fn has_ended(&self) -> std::io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), options)?.is_some())
    }

    /// Kills the group and reaps the leader; the status is its own where it had ended before.
    fn stop(&mut self) -> std::io::Result<ExitStatus> {
        // The list is held until the leader is reaped: the Ctrl-C handler must not meet an id that has been given away.
        let mut groups = list();
        if !self.reaped {
            kill(self.child.id());
        }
        let status = self.child.wait();
        self.reaped = true;
        groups.remove(&self.child.id());
        status
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.stop();
    }
}

fn list() -> MutexGuard<'static, BTreeSet<u32>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kill(group: u32) {
    if let Some(group) = Pid::from_raw(group as i32) {
        // It may have ended in between, which is what we want.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Stops every living subject with all that it started; for the Ctrl-C handler.
pub fn stop_all() {
    list().iter().copied().for_each(kill);
}
