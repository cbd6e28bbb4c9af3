//! What a run was answered so far, on disk: a run that was killed goes on where it was.
//!
//! One file a gate, oracle and engine, JSON lines, so that a run against another oracle or of a binary named by hand leaves the
//! main run's alone. The first line names what was compared with what, and where: only a run of the very same may go on. Each
//! other line is one question with its answer and the digest of that first line, so that it is of no other run; it is written
//! whole before the run proceeds, and one that a kill cut short is dropped. The file goes when its run is on record.

mod host;
mod oracle;
mod transport;

pub use host::Host;
pub use oracle::JournaledOracle;
pub use transport::JournaledSubject;

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::subject::FoundBy;

/// What a run compares with what, and where. A run goes on only where all of it is as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The gate.
    pub gate: String,
    /// SHA-256 of its spec.
    pub spec_sha256: String,
    /// SHA-256 of its inputs.
    pub inputs_sha256: Option<String>,
    /// SHA-256 of the harness that asks.
    pub harness_sha256: Option<String>,
    /// The machine.
    pub host: Host,
    /// How the engine's binary was found.
    pub found_by: FoundBy,
    /// SHA-256 of the engine's binary.
    pub binary_sha256: String,
    /// The oracle's name; `None` where the engine is judged alone.
    pub oracle: Option<String>,
    /// SHA-256 of the oracle's definition.
    pub oracle_sha256: Option<String>,
    /// SHA-256 of the checkpoint's declaration.
    pub checkpoint_sha256: Option<String>,
}

/// One answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// [`Header::run`] of the run that it was given in.
    run: String,
    /// The question: who was asked what.
    asked: Value,
    answer: Value,
    /// How long it took.
    ms: u64,
}

/// The answers of one run.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// [`Header::run`].
    run: String,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    /// Answers of the run that was interrupted, by question, in the order in which they came.
    kept: BTreeMap<String, VecDeque<Entry>>,
    replayed: Replayed,
}

/// What was not asked again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Replayed {
    /// How many answers.
    pub answers: u64,
    /// How long they took when they were given.
    pub ms: u64,
}

/// A journal that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read or written.
    #[error("cannot {action} {path}")]
    Io {
        /// `create`, `read`, `write` or `remove`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Another run of the gate is at work.
    #[error("another run of {gate} is at work: {path} is locked")]
    Busy {
        /// The gate.
        gate: String,
        /// The file.
        path: PathBuf,
    },
    /// What was interrupted compared something else.
    #[error(
        "--resume: the run of {gate} that was interrupted had another {key}; run it without --resume"
    )]
    Other {
        /// The gate.
        gate: String,
        /// What differs.
        key: &'static str,
    },
    /// An answer was given in another run.
    #[error(
        "--resume: {path}: line {line} is an answer of another run than the first line names: take the file away"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The line, 1 the first.
        line: usize,
    },
    /// A line is not what this program writes.
    #[error("{path}: line {line}: expected {expected}, found {found:?}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The line, 1 the first.
        line: usize,
        /// What should stand there.
        expected: &'static str,
        /// The beginning of what does.
        found: String,
    },
}

impl Journal {
    /// A new journal of the run that `header` describes; one of an earlier run is dropped.
    pub fn begin(folder: &Path, header: &Header) -> Result<Self, JournalError> {
        let (path, mut file) = locked(folder, header)?;
        let write = |source| JournalError::Io { action: "write", path: path.clone(), source };
        file.set_len(0).map_err(write)?;
        file.seek(SeekFrom::Start(0)).map_err(write)?;
        line(&mut file, header).map_err(write)?;
        Ok(Self::of(path, header, file, BTreeMap::new()))
    }

    /// The journal of a run that was interrupted and compared what `header` says.
    pub fn resume(folder: &Path, header: &Header) -> Result<Self, JournalError> {
        let (path, mut file) = locked(folder, header)?;
        let failed = |action| {
            let path = path.clone();
            move |source| JournalError::Io { action, path, source }
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read"))?;
        // What follows the last line break was being written when the run ended.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        file.set_len(whole as u64).map_err(failed("write"))?;
        file.seek(SeekFrom::End(0)).map_err(failed("write"))?;
        let mut lines = bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        let found: Header = parse(&path, 1, "what is compared with what", first)?;
        if let Some(key) = header.differs(&found) {
            return Err(JournalError::Other { gate: header.gate.clone(), key });
        }
        let mut kept: BTreeMap<String, VecDeque<Entry>> = BTreeMap::new();
        for (index, line) in lines.enumerate() {
            let entry: Entry = parse(&path, index + 2, "an answer", line)?;
            if entry.run != header.run() {
                return Err(JournalError::Foreign { path, line: index + 2 });
            }
            kept.entry(entry.asked.to_string()).or_default().push_back(entry);
        }
        Ok(Self::of(path, header, file, kept))
    }

    fn of(
        path: PathBuf,
        header: &Header,
        file: File,
        kept: BTreeMap<String, VecDeque<Entry>>,
    ) -> Self {
        let state = Mutex::new(State { file, kept, replayed: Replayed::default() });
        Self { path, run: header.run(), state }
    }

    /// How many answers an interrupted run of the same gate, oracle and engine has left; none where there is no such run.
    pub fn left(folder: &Path, header: &Header) -> Option<usize> {
        let text = std::fs::read_to_string(header.file(folder)).ok()?;
        Some(text.lines().count().saturating_sub(1)).filter(|answers| *answers > 0)
    }

    /// What was taken from the run that was interrupted.
    pub fn replayed(&self) -> Replayed {
        self.state().replayed
    }

    /// The next answer that was kept for this question.
    pub fn answer<T: DeserializeOwned>(&self, asked: &Value) -> Option<T> {
        let mut state = self.state();
        let entry = state.kept.get_mut(&asked.to_string())?.pop_front()?;
        let answer = serde_json::from_value(entry.answer).ok()?;
        state.replayed.answers += 1;
        state.replayed.ms += entry.ms;
        Some(answer)
    }

    /// Keeps an answer. One that cannot be kept is asked for again should this run not end.
    pub fn keep<T: Serialize>(&self, asked: Value, answer: &T, took: Duration) {
        let Ok(answer) = serde_json::to_value(answer) else { return };
        let entry = Entry { run: self.run.clone(), asked, answer, ms: took.as_millis() as u64 };
        let _ = line(&mut self.state().file, &entry);
    }

    /// The run is on record.
    pub fn finish(&self) -> Result<(), JournalError> {
        std::fs::remove_file(&self.path).map_err(|source| JournalError::Io {
            action: "remove",
            path: self.path.clone(),
            source,
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // Nothing in here is left half done by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Journal {
    /// The lock goes with the journal, and not with the last copy of the file: a child that is being started holds one for a
    /// moment.
    fn drop(&mut self) {
        let _ = self.state().file.unlock();
    }
}

impl Header {
    /// The first thing that is otherwise in `other`.
    fn differs(&self, other: &Self) -> Option<&'static str> {
        let pairs = [
            ("gate", self.gate != other.gate),
            ("spec", self.spec_sha256 != other.spec_sha256),
            ("list of inputs", self.inputs_sha256 != other.inputs_sha256),
            ("harness", self.harness_sha256 != other.harness_sha256),
            ("machine", self.host != other.host),
            ("way to its engine", self.found_by != other.found_by),
            ("engine", self.binary_sha256 != other.binary_sha256),
            ("oracle", self.oracle != other.oracle),
            ("definition of its oracle", self.oracle_sha256 != other.oracle_sha256),
            ("checkpoint", self.checkpoint_sha256 != other.checkpoint_sha256),
        ];
        pairs.into_iter().find(|(_, differ)| *differ).map(|(key, _)| key)
    }

    /// What its answers name it by.
    fn run(&self) -> String {
        // Text and lists of it: this cannot fail.
        oracles::digest::sha256_bytes(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// Its file. Engines of the tree follow each other in one; each that was named by hand has its own.
    fn file(&self, folder: &Path) -> PathBuf {
        let oracle = self.oracle.as_deref().unwrap_or("alone");
        let engine = match self.found_by {
            FoundBy::Flag => self.binary_sha256.get(..12).unwrap_or(&self.binary_sha256),
            FoundBy::Build | FoundBy::Sibling => "plumb",
        };
        folder.join(format!("{}.{oracle}.{engine}.journal", self.gate))
    }
}

/// The run's file, which nobody else may have open.
fn locked(folder: &Path, header: &Header) -> Result<(PathBuf, File), JournalError> {
    let path = header.file(folder);
    let failed = |source| JournalError::Io { action: "create", path: path.clone(), source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok((path, file)),
        Err(std::fs::TryLockError::WouldBlock) => {
            Err(JournalError::Busy { gate: header.gate.clone(), path })
        }
        Err(std::fs::TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// One value on a line of its own, in one write.
fn line<T: Serialize>(file: &mut File, value: &T) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    file.write_all(&text)
}

fn parse<T: DeserializeOwned>(
    path: &Path,
    line: usize,
    expected: &'static str,
    bytes: &[u8],
) -> Result<T, JournalError> {
    serde_json::from_slice(bytes).map_err(|_| JournalError::Unreadable {
        path: path.to_owned(),
        line,
        expected,
        found: String::from_utf8_lossy(bytes).chars().take(60).collect(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn header() -> Header {
        Header {
            gate: "tiny".to_owned(),
            spec_sha256: "spec".to_owned(),
            inputs_sha256: None,
            harness_sha256: Some("harness".to_owned()),
            host: host("here"),
            found_by: FoundBy::Build,
            binary_sha256: "binary".to_owned(),
            oracle: Some("oracle".to_owned()),
            oracle_sha256: Some("oracle".to_owned()),
            checkpoint_sha256: Some("checkpoint".to_owned()),
        }
    }

    fn host(name: &str) -> Host {
        Host { machine_id_sha256: Some(name.to_owned()), cpu_model: None, cpu_features: Vec::new() }
    }

    fn ask(journal: &Journal, question: u32) -> Option<u32> {
        journal.answer(&json!({ "question": question }))
    }

    fn keep(journal: &Journal, question: u32, answer: u32) {
        journal.keep(json!({ "question": question }), &answer, Duration::from_millis(5));
    }

    #[test]
    fn answers_come_back_once_each_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::begin(folder.path(), &header()).unwrap();
        keep(&journal, 1, 10);
        keep(&journal, 1, 11);
        keep(&journal, 2, 20);
        assert_eq!(ask(&journal, 1), None);
        drop(journal);
        assert_eq!(Journal::left(folder.path(), &header()), Some(3));
        let journal = Journal::resume(folder.path(), &header()).unwrap();
        assert_eq!(
            [1, 2, 1, 1].map(|question| ask(&journal, question)),
            [Some(10), Some(20), Some(11), None]
        );
        assert_eq!(journal.replayed(), Replayed { answers: 3, ms: 15 });
        keep(&journal, 3, 30);
        drop(journal);
        let journal = Journal::resume(folder.path(), &header()).unwrap();
        assert_eq!(ask(&journal, 3), Some(30));
        journal.finish().unwrap();
        drop(journal);
        assert_eq!(Journal::left(folder.path(), &header()), None);
        assert!(Journal::resume(folder.path(), &header()).is_err());
    }

    #[test]
    fn a_line_that_was_cut_is_dropped_at_every_byte() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::begin(folder.path(), &header()).unwrap();
        keep(&journal, 1, 10);
        let first = std::fs::read(&journal.path).unwrap().len();
        keep(&journal, 2, 20);
        let bytes = std::fs::read(&journal.path).unwrap();
        let path = journal.path.clone();
        drop(journal);
        for end in first..bytes.len() {
            std::fs::write(&path, &bytes[..end]).unwrap();
            let journal = Journal::resume(folder.path(), &header()).unwrap();
            assert_eq!((ask(&journal, 1), ask(&journal, 2)), (Some(10), None), "{end}");
            keep(&journal, 2, 21);
            drop(journal);
            let journal = Journal::resume(folder.path(), &header()).unwrap();
            assert_eq!((ask(&journal, 1), ask(&journal, 2)), (Some(10), Some(21)), "{end}");
        }
    }

    #[test]
    fn only_the_same_comparison_goes_on_and_only_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::begin(folder.path(), &header()).unwrap();
        assert!(matches!(Journal::begin(folder.path(), &header()), Err(JournalError::Busy { .. })));
        drop(journal);
        let other = Header { spec_sha256: "edited".to_owned(), ..header() };
        let refused = Journal::resume(folder.path(), &other).unwrap_err().to_string();
        assert!(refused.contains("another spec"), "{refused}");
        std::fs::write(header().file(folder.path()), "nonsense\n").unwrap();
        let refused = Journal::resume(folder.path(), &header()).unwrap_err().to_string();
        assert!(refused.contains("line 1"), "{refused}");
    }

    /// Each key of the header, in turn, is another's.
    #[test]
    fn what_is_otherwise_is_named() {
        let folder = tempfile::tempdir().unwrap();
        keep(&Journal::begin(folder.path(), &header()).unwrap(), 1, 10);
        let text = std::fs::read_to_string(header().file(folder.path())).unwrap();
        let others = [
            ("gate", Header { gate: "other".into(), ..header() }),
            ("spec", Header { spec_sha256: "other".into(), ..header() }),
            ("list of inputs", Header { inputs_sha256: Some("other".into()), ..header() }),
            ("harness", Header { harness_sha256: None, ..header() }),
            ("machine", Header { host: host("there"), ..header() }),
            ("way to its engine", Header { found_by: FoundBy::Flag, ..header() }),
            ("engine", Header { binary_sha256: "other".into(), ..header() }),
            ("oracle", Header { oracle: None, ..header() }),
            ("definition of its oracle", Header { oracle_sha256: None, ..header() }),
            ("checkpoint", Header { checkpoint_sha256: None, ..header() }),
        ];
        for (key, other) in others {
            // As if the file had been copied there.
            std::fs::write(other.file(folder.path()), &text).unwrap();
            let refused = Journal::resume(folder.path(), &other).unwrap_err().to_string();
            assert!(refused.contains(&format!("had another {key};")), "{refused}");
        }
    }

    #[test]
    fn a_crossed_run_and_one_of_a_named_binary_leave_the_main_run_alone() {
        let folder = tempfile::tempdir().unwrap();
        keep(&Journal::begin(folder.path(), &header()).unwrap(), 1, 10);
        let crossed = Header { oracle: Some("other".into()), ..header() };
        let alone = Header { oracle: None, ..header() };
        let named = Header { found_by: FoundBy::Flag, ..header() };
        for other in [&crossed, &alone, &named] {
            assert_eq!(Journal::left(folder.path(), other), None);
            keep(&Journal::begin(folder.path(), other).unwrap(), 1, 11);
        }
        for (run, answer) in [(&header(), 10), (&crossed, 11), (&alone, 11), (&named, 11)] {
            let journal = Journal::resume(folder.path(), run).unwrap();
            assert_eq!(ask(&journal, 1), Some(answer));
        }
    }

    /// The answers of another machine, pasted behind a header of this one.
    #[test]
    fn an_answer_of_another_run_is_refused_by_its_line() {
        let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        keep(&Journal::begin(here.path(), &header()).unwrap(), 1, 10);
        let other = Header { host: host("there"), ..header() };
        keep(&Journal::begin(there.path(), &other).unwrap(), 2, 20);
        let path = header().file(here.path());
        let [ours, theirs] =
            [&path, &other.file(there.path())].map(|path| std::fs::read_to_string(path).unwrap());
        let pasted = ours + theirs.lines().last().unwrap() + "\n";
        std::fs::write(&path, pasted).unwrap();
        let refused = Journal::resume(here.path(), &header()).unwrap_err();
        assert!(matches!(refused, JournalError::Foreign { line: 3, .. }), "{refused}");
        assert!(refused.to_string().contains("line 3 is an answer of another run"), "{refused}");
    }
}
