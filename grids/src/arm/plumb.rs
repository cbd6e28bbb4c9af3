//! Our engine as an arm: the shipped binary, `plumb serve`.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use oracles::checkpoint::Checkpoint;
use oracles::process::Group;
use oracles::{Home, logs};
use serde_json::{Value, json};

use super::{ArmError, Held, Launch, Running, target};
use crate::load::request::Dialect;
use crate::spec::PrefixCache;

/// How long it may take until it is warm.
const READY: Duration = Duration::from_mins(10);
const POLL: Duration = Duration::from_millis(50);
/// How long a question about health may take.
const ASK: Duration = Duration::from_secs(5);
/// More than any page of its own takes.
const ANSWER_BYTES: u64 = 1 << 20;
/// The name under which it serves.
const MODEL: &str = "plumb";

/// The key of [`BY_HAND`] in what an engine says of itself, as records of gates have it.
const FOUND_BY: &str = "found_by";
/// How a binary is named by hand: by this flag, or as `binary` of an arm.
pub const BY_HAND: &str = "--plumb";

/// Whether the engine that said this was named by hand.
pub fn is_by_hand(info: &Value) -> bool {
    info.get(FOUND_BY).and_then(Value::as_str) == Some(BY_HAND)
}

/// The binary. Its bytes are hashed at each start, because a build may replace the file between two.
#[derive(Debug, Clone)]
pub struct Plumb {
    /// Where it is.
    pub path: PathBuf,
    /// Somebody named it: it is not the one that was built beside this program.
    pub is_named: bool,
}

impl Plumb {
    /// The named binary, or the one beside our own executable.
    pub fn find(named: Option<&Path>) -> Result<Self, ArmError> {
        let beside = || std::env::current_exe().ok().map(|own| own.with_file_name("plumb"));
        let path = named.map(Path::to_path_buf).or_else(beside).unwrap_or_default();
        match std::fs::File::open(&path) {
            Ok(_) => Ok(Self { path, is_named: named.is_some() }),
            Err(error) => Err(ArmError::Binary {
                reason: format!(
                    "{error}: build it with `cargo build --release`, or name one with --plumb"
                ),
                path,
            }),
        }
    }

    /// `plumb info --json` with a model: version, digest of sources, profile, kernels.
    fn info(&self, model: &Path) -> Result<Value, ArmError> {
        let failed = |reason: String| ArmError::Binary { path: self.path.clone(), reason };
        let output = Command::new(&self.path)
            .args(["info", "--json"])
            .arg(model)
            .env_clear()
            .output()
            .map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(failed(format!("`plumb info` ended with {}: {said}", output.status)));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| failed(format!("`plumb info`: {error}")))
    }

    /// What it says of itself, with how it was found where somebody named it: what it was made of is then its own word alone.
    fn found_by(&self, mut info: Value) -> Value {
        if let (true, Some(fields)) = (self.is_named, info.as_object_mut()) {
            fields.insert(FOUND_BY.to_owned(), BY_HAND.into());
        }
        info
    }

    /// Starts the server on a free port and waits until it says that it is warm.
    pub(super) fn serve(
        &self,
        arm: &Launch,
        home: &Home,
        checkpoint: &Checkpoint,
    ) -> Result<Running, ArmError> {
        let failed = |reason: String| ArmError::Binary { path: self.path.clone(), reason };
        let asked = sha256(&self.path).map_err(failed)?;
        let info = self.found_by(self.info(&checkpoint.path)?);
        let log = logs::create(home, "plumb-serve").map_err(|error| failed(error.to_string()))?;
        let address = free_address().map_err(|error| failed(error.to_string()))?;
        let flags = flags(arm, checkpoint, address);
        let output = std::fs::File::create(&log).map_err(|error| failed(error.to_string()))?;
        let twin = output.try_clone().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(&self.path);
        command.args(&flags).env_clear().stdout(twin).stderr(output);
        let started = Instant::now();
        let mut group = Group::spawn(&mut command).map_err(|error| failed(error.to_string()))?;
        let binary_sha256 = running(&group, &asked).map_err(failed)?;
        let failed = |reason: String| ArmError::Plumb { reason, log: log.clone() };
        wait(&mut group, address).map_err(failed)?;
        let server: Value = get(address, "/server_info")
            .map_err(|error| error.to_string())
            .and_then(|body| serde_json::from_str(&body).map_err(|error| error.to_string()))
            .map_err(|reason| failed(format!("/server_info: {reason}")))?;
        let prefix_cache = server.pointer("/kv_cache/prefix_caching").and_then(Value::as_bool);
        let identity = json!({
            "binary_sha256": binary_sha256,
            "info": info,
            "flags": portable(&flags, checkpoint),
            "server": told(server),
        });
        Ok(Running {
            target: super::Target {
                extra: [("return_token_ids".to_owned(), json!(true))].into_iter().collect(),
                ..target(address, Dialect::Completions, Some(MODEL))
            },
            identity,
            prefix_cache,
            checkpoint_sha256: checkpoint.sha256.clone(),
            process: Some(group.id()),
            ready_ms: started.elapsed().as_millis() as u64,
            _server: Held::Ours(group),
        })
    }
}

fn sha256(path: &Path) -> Result<String, String> {
    records::sha256_file(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// The digest of the bytes that really run, which are those that were `asked` what they are.
fn running(group: &Group, asked: &str) -> Result<String, String> {
    let runs = sha256(&PathBuf::from(format!("/proc/{}/exe", group.id())))?;
    if runs == asked {
        return Ok(runs);
    }
    Err(format!("it was replaced while it was started: {asked} was asked what it is, {runs} runs"))
}

fn flags(arm: &Launch, checkpoint: &Checkpoint, address: SocketAddr) -> Vec<String> {
    let mut flags = vec!["serve".to_owned(), checkpoint.path.display().to_string()];
    let pairs = [
        ("--served-model-name", MODEL.to_owned()),
        ("--host", address.ip().to_string()),
        ("--port", address.port().to_string()),
        ("--threads", arm.threads.to_string()),
        ("--max-model-len", arm.context.to_string()),
        ("--max-num-seqs", arm.sequences.to_string()),
    ];
    flags.extend(pairs.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]));
    if arm.prefix_cache == PrefixCache::Off {
        flags.push("--no-enable-prefix-caching".to_owned());
    }
    flags.extend(arm.arguments.iter().cloned());
    flags
}

/// The flags without the folder of the checkpoint: where a cache lies says nothing about what ran.
fn portable(flags: &[String], checkpoint: &Checkpoint) -> Vec<String> {
    let (whole, name) = (checkpoint.path.display().to_string(), checkpoint.path.file_name());
    let short = |flag: &String| match name {
        Some(name) if *flag == whole => name.to_string_lossy().into_owned(),
        _ => flag.clone(),
    };
    flags.iter().map(short).collect()
}

fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr())
}

/// Until `/health` answers 200; the reason where it does not come to that.
fn wait(group: &mut Group, address: SocketAddr) -> Result<(), String> {
    let deadline = Instant::now() + READY;
    let mut last = "no answer yet".to_owned();
    while Instant::now() < deadline {
        if let Ok(Some(status)) = group.ended() {
            return Err(format!("it ended before it was ready ({status})"));
        }
        match get(address, "/health") {
            Ok(_) => return Ok(()),
            Err(error) => last = error.to_string(),
        }
        thread::sleep(POLL);
    }
    Err(format!("not ready after {} s: {last}", READY.as_secs()))
}

/// What the server resolved, without where its checkpoint lies.
fn told(mut server: Value) -> Value {
    if let Some(keys) = server.as_object_mut() {
        keys.remove("model");
    }
    server
}

/// The body of a page that was answered with 200.
fn get(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let answer = ask(address, path)?;
    let status = answer.lines().next().unwrap_or("no answer");
    match answer.split_once("\r\n\r\n") {
        Some((_, body)) if status.split_ascii_whitespace().nth(1) == Some("200") => {
            Ok(body.to_owned())
        }
        _ => Err(std::io::Error::other(status.to_owned())),
    }
}

/// A whole answer, at most [`ANSWER_BYTES`] of it.
fn ask(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, ASK)?;
    stream.set_read_timeout(Some(ASK))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES).read_to_string(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A build that replaces the file between the question and the start is seen in the bytes that run.
    #[test]
    fn what_runs_is_what_was_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plumb");
        std::fs::copy("/bin/sleep", &path).unwrap();
        let asked = sha256(&path).unwrap();
        let group = Group::spawn(Command::new(&path).arg("60")).unwrap();
        assert_eq!(running(&group, &asked), Ok(asked));
        let refused = running(&group, "another").unwrap_err();
        assert!(refused.starts_with("it was replaced while it was started"), "{refused}");
    }
}
