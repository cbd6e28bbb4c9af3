//! One client as a process with all its children on one core, in an environment of its own, ended when its time is over.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use oracles::process::Group;

use super::ClientsError;
use super::spec::Package;
use crate::pinning::pin;

/// How often it is looked at: it has its own core, this has the other one.
const POLL: Duration = Duration::from_millis(50);

/// What stands for the words in braces of a command line.
#[derive(Debug, Clone)]
pub struct Values<'a> {
    /// The mock or the relay, as `http://HOST:PORT`.
    pub url: &'a str,
    /// Streams at any time.
    pub streams: u32,
    /// Requests in all.
    pub requests: u32,
    /// Tokens of each prompt.
    pub prompt_tokens: u32,
    /// Tokens of each answer.
    pub output_tokens: u32,
    /// A folder of its own.
    pub out: &'a Path,
    /// Its virtual environment.
    pub environment: &'a Path,
    /// A tokenizer in Hugging Face's format.
    pub tokenizer: &'a Path,
    /// This program.
    pub grid: &'a Path,
}

impl Values<'_> {
    /// The words.
    pub const NAMES: [&'static str; 10] = [
        "url",
        "streams",
        "requests",
        "prompt_tokens",
        "output_tokens",
        "out",
        "python",
        "bin",
        "tokenizer",
        "grid",
    ];

    fn get(&self, name: &str) -> Option<String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        Some(match name {
            "url" => self.url.to_owned(),
            "streams" => self.streams.to_string(),
            "requests" => self.requests.to_string(),
            "prompt_tokens" => self.prompt_tokens.to_string(),
            "output_tokens" => self.output_tokens.to_string(),
            "out" => path(self.out),
            "python" => path(&python(self.environment)),
            "bin" => path(&self.environment.join("bin")),
            "tokenizer" => path(self.tokenizer),
            "grid" => path(self.grid),
            _ => return None,
        })
    }

    /// The first word in braces of lower-case letters that is none of the [names](Self::NAMES).
    pub fn unknown(text: &str) -> Option<&str> {
        braced(text).map(|(_, name)| name).find(|name| !Self::NAMES.contains(name))
    }

    /// The text with its words in braces replaced; other braces, as JSON has them, stay.
    pub fn fill(&self, text: &str) -> String {
        let (mut filled, mut from) = (String::new(), 0);
        for (at, name) in braced(text) {
            if let Some(value) = self.get(name) {
                filled += &text[from..at];
                filled += &value;
                from = at + name.len() + 2;
            }
        }
        filled + &text[from..]
    }
}

/// Each `{word}` of lower-case letters and `_`: where its brace stands, and the word.
fn braced(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('{').filter_map(|(at, _)| {
        let word = text[at + 1..].split_once('}')?.0;
        let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        is_word.then_some((at, word))
    })
}

fn python(environment: &Path) -> PathBuf {
    environment.join("bin").join("python")
}

/// Why a client cannot be run here; `None` if it can: its package is there, in the version that is pinned.
pub fn missing(environment: &Path, package: &Package) -> Option<String> {
    let Package { name, version } = package;
    let script = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))";
    let output = Command::new(python(environment)).args(["-c", script, name]).env_clear().output();
    match output.ok().filter(|output| output.status.success()) {
        None => Some(format!("{name} {version} is not installed")),
        Some(output) => {
            let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            let is_other = found != *version;
            is_other.then(|| format!("{name} {found} is installed, {version} is pinned"))
        }
    }
}

/// What is run.
#[derive(Debug)]
pub struct Job<'a> {
    /// Program and arguments.
    pub command: Vec<String>,
    /// All of its environment but `PATH` and `HOME`.
    pub variables: BTreeMap<String, String>,
    /// Where its programs are looked for first.
    pub bin: PathBuf,
    /// Its working folder and home; `stdout.txt` and `stderr.txt` are put there.
    pub folder: &'a Path,
    /// Its core, and that of each of its children.
    pub core: usize,
    /// The most it may take.
    pub deadline: Duration,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ended {
    /// Why that is no success; `None` if it is one.
    pub failure: Option<Failure>,
    /// How long it took.
    pub seconds: f64,
}

/// Why a process is no success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It said so.
    #[error("it ended with status {0}")]
    Status(i32),
    /// Somebody ended it.
    #[error("it was ended by a signal")]
    Signal,
    /// It took too long.
    #[error("it had not ended after {0} s")]
    Deadline(u64),
}

/// Runs it to its end or its deadline. `Err` where it cannot even be started for a reason of ours; a program that does not exist
/// or cannot be run is `Ok(None)` with the system's message in `stderr.txt`.
pub fn run(job: &Job<'_>, stop: &AtomicBool) -> Result<Option<Ended>, ClientsError> {
    let file = |name: &str| {
        let path = job.folder.join(name);
        File::create(&path).map_err(|source| ClientsError::File { path, source })
    };
    let (stdout, stderr) = (file("stdout.txt")?, file("stderr.txt")?);
    let mut command = Command::new(&job.command[0]);
    command.args(&job.command[1..]).env_clear().envs(&job.variables);
    command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", job.bin.display()));
    command.env("HOME", job.folder).current_dir(job.folder).stdout(stdout).stderr(stderr);
    let start = Instant::now();
    let mut group = match spawn_on(job.core, command)? {
        Ok(group) => group,
        Err(error) => {
            let path = job.folder.join("stderr.txt");
            let text = format!("{}: {error}\n", job.command[0]);
            std::fs::write(&path, text).map_err(|source| ClientsError::File { path, source })?;
            return Ok(None);
        }
    };
    let waiting = |source| ClientsError::System { action: "waiting for a client", source };
    let failure = loop {
        if let Some(status) = group.ended().map_err(waiting)? {
            break match (status.success(), status.code()) {
                (true, _) => None,
                (false, Some(code)) => Some(Failure::Status(code)),
                (false, None) => Some(Failure::Signal),
            };
        }
        if stop.load(Ordering::SeqCst) {
            return Err(ClientsError::Interrupted);
        }
        if start.elapsed() >= job.deadline {
            break Some(Failure::Deadline(job.deadline.as_secs()));
        }
        std::thread::sleep(POLL);
    };
    let seconds = start.elapsed().as_secs_f64();
    group.stop();
    Ok(Some(Ended { failure, seconds }))
}

/// Starts a command from a thread that is bound to the core: a child has the cores of the thread that started it.
fn spawn_on(core: usize, mut command: Command) -> Result<std::io::Result<Group>, ClientsError> {
    let spawn = move || pin(core).map(|()| Group::spawn(&mut command));
    let spawned = std::thread::spawn(spawn).join();
    let panicked = || Err(std::io::Error::other("the thread that starts it panicked"));
    spawned
        .unwrap_or_else(|_| panicked())
        .map_err(|source| ClientsError::System { action: "binding a client to its core", source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(out: &Path) -> Values<'_> {
        let environment = Path::new("/e");
        Values {
            url: "http://127.0.0.1:81",
            streams: 4,
            requests: 16,
            prompt_tokens: 8,
            output_tokens: 32,
            out,
            environment,
            tokenizer: Path::new("/t"),
            grid: Path::new("/g"),
        }
    }

    #[test]
    fn words_in_braces_are_replaced_and_json_is_not() {
        let values = values(Path::new("/o"));
        let text = "{url}/v1 {out}/x {python} {\"a\":{streams}} {} {Not}";
        let filled = "http://127.0.0.1:81/v1 /o/x /e/bin/python {\"a\":4} {} {Not}";
        assert_eq!(values.fill(text), filled);
        assert_eq!((Values::unknown(text), Values::unknown("{stream}")), (None, Some("stream")));
        for name in Values::NAMES {
            assert!(values.get(name).is_some(), "{name}");
        }
    }

    fn ran(command: &[&str], folder: &Path, deadline: Duration) -> Option<Ended> {
        let job = Job {
            command: command.iter().map(|&word| word.to_owned()).collect(),
            variables: BTreeMap::from([("A".to_owned(), "b".to_owned())]),
            bin: PathBuf::from("/nowhere"),
            folder,
            core: 0,
            deadline,
        };
        run(&job, &AtomicBool::new(false)).unwrap()
    }

    /// The system itself says on which cores the child may run, and what its environment is.
    #[test]
    fn a_client_has_one_core_and_its_own_environment() {
        let folder = tempfile::tempdir().unwrap();
        let script = "grep Cpus_allowed_list /proc/self/status; echo $A $HOME";
        let ended = ran(&["sh", "-c", script], folder.path(), Duration::from_secs(20)).unwrap();
        assert_eq!(ended.failure, None);
        let said = std::fs::read_to_string(folder.path().join("stdout.txt")).unwrap();
        assert_eq!(said, format!("Cpus_allowed_list:\t0\nb {}\n", folder.path().display()));
    }

    #[test]
    fn every_way_of_failing_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let failure = |command: &[&str], deadline| {
            ran(command, folder.path(), Duration::from_millis(deadline)).unwrap().failure
        };
        assert_eq!(failure(&["sh", "-c", "exit 3"], 20_000), Some(Failure::Status(3)));
        assert_eq!(failure(&["sleep", "30"], 100), Some(Failure::Deadline(0)));
        assert_eq!(ran(&["/nowhere/client"], folder.path(), Duration::from_secs(1)), None);
        let said = std::fs::read_to_string(folder.path().join("stderr.txt")).unwrap();
        assert!(said.contains("No such file"), "{said}");
    }

    #[test]
    fn what_is_not_installed_is_named() {
        let package = Package { name: "aiperf".to_owned(), version: "0.13.0".to_owned() };
        let reason = missing(Path::new("/nowhere"), &package);
        assert_eq!(reason.as_deref(), Some("aiperf 0.13.0 is not installed"));
    }
}
