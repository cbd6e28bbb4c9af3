//! Starting an oracle's server and stopping it, whatever happens to us.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::checkpoint::Checkpoint;
use crate::place::PlaceError;
use crate::process::{Group, POLL};
use crate::provision::Provisioned;
use crate::verbs::{Completion, CompletionRequest, Identity, Message, Oracle, VerbError};
use crate::{Home, Result, logs, provision};

mod answer;
mod client;
mod error;
mod readback;

use client::Client;
pub use error::LaunchError;

pub use crate::process::stop_all;

/// With a port of our own choice: how often another is tried when somebody takes it first.
const PORT_ATTEMPTS: u32 = 3;

/// How a server is launched. The default is the one goldens are captured with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchSettings {
    /// Threads of generation and of prompt processing.
    pub threads: u32,
    /// Tokens of context.
    pub context: u32,
    /// Tokens of a logical batch.
    pub batch: u32,
    /// Tokens of a physical batch.
    pub ubatch: u32,
    /// More arguments, after those of the registry file.
    pub arguments: Vec<String>,
    /// How long it may take until it answers a request.
    pub ready_timeout: Duration,
    /// How long one answer may take.
    pub request_timeout: Duration,
    /// The port; a free one when `None`.
    pub port: Option<u16>,
}

impl Default for LaunchSettings {
    fn default() -> Self {
        Self {
            // With one thread no reduction is split over threads, so its bits do not depend on them.
            threads: 1,
            context: 4096,
            batch: 2048,
            ubatch: 512,
            arguments: Vec::new(),
            ready_timeout: Duration::from_mins(2),
            request_timeout: Duration::from_mins(10),
            port: None,
        }
    }
}

/// A running oracle; dropping it stops its whole process group.
#[derive(Debug)]
pub struct Server {
    group: Group,
    client: Client,
    log: PathBuf,
    identity: Identity,
}

/// Starts the server on `checkpoint` and waits until it really answers. The installation is
/// verified first, and what the process says about itself is compared with what was asked.
pub fn launch(
    home: &Home,
    oracle: &Provisioned,
    checkpoint: &Checkpoint,
    settings: &LaunchSettings,
) -> Result<Server> {
    provision::Manifest::read_verified(&oracle.dir)?;
    Ok(start(home, oracle, checkpoint, settings)?)
}

/// [`launch`] without the check of the installation.
fn start(
    home: &Home,
    oracle: &Provisioned,
    checkpoint: &Checkpoint,
    settings: &LaunchSettings,
) -> Result<Server, LaunchError> {
    let spec = &oracle.spec;
    let Some(launch) = &spec.declared.launch else {
        let (name, path) = (spec.name.clone(), spec.path.clone());
        return Err(LaunchError::NoLaunch { name, path });
    };
    if checkpoint.path.extension().is_none_or(|extension| extension != "gguf") {
        let (oracle, path) = (spec.name.clone(), checkpoint.path.clone());
        return Err(LaunchError::Checkpoint { oracle, path });
    }
    let executable = oracle.executable(&launch.executable);
    let mut attempt = 1;
    loop {
        let port = free_port(&spec.name, settings.port)?;
        let mut flags = vec!["--model".to_owned(), checkpoint.path.display().to_string()];
        flags.extend(arguments(port, settings));
        flags.extend(launch.arguments.iter().chain(&settings.arguments).cloned());
        let log = logs::create(home, &format!("oracle-{}", spec.name))?;
        let mut command = Command::new(&executable);
        command.args(&flags).env_clear().envs(&launch.environment);
        let plan = Plan { oracle, checkpoint, settings, executable: &executable, flags, log, port };
        match plan.run(command) {
            Err(LaunchError::PortInUse { .. })
                if settings.port.is_none() && attempt < PORT_ATTEMPTS =>
            {
                attempt += 1;
            }
            other => return other,
        }
    }
}

/// The arguments that the settings decide.
fn arguments(port: u16, settings: &LaunchSettings) -> Vec<String> {
    let mut arguments = vec!["--host".to_owned(), Ipv4Addr::LOCALHOST.to_string()];
    for (flag, value) in [
        ("--port", u32::from(port)),
        ("--threads", settings.threads),
        ("--threads-batch", settings.threads),
        ("--ctx-size", settings.context),
        ("--batch-size", settings.batch),
        ("--ubatch-size", settings.ubatch),
    ] {
        arguments.extend([flag.to_owned(), value.to_string()]);
    }
    arguments
}

/// The wanted port when nobody has it, or one that the system says is free.
fn free_port(oracle: &str, wanted: Option<u16>) -> Result<u16, LaunchError> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted.unwrap_or(0)));
    let port = bound.and_then(|listener| listener.local_addr()).map(|address| address.port());
    port.map_err(|source| LaunchError::PortInUse {
        oracle: oracle.to_owned(),
        port: wanted.unwrap_or(0),
        source,
    })
}

/// One attempt to start.
struct Plan<'a> {
    oracle: &'a Provisioned,
    checkpoint: &'a Checkpoint,
    settings: &'a LaunchSettings,
    executable: &'a Path,
    flags: Vec<String>,
    log: PathBuf,
    port: u16,
}

impl Plan<'_> {
    fn run(self, mut command: Command) -> Result<Server, LaunchError> {
        let write = |error| PlaceError::new("write", &self.log, error);
        let output = std::fs::File::create(&self.log).map_err(write)?;
        command.stdout(output.try_clone().map_err(write)?).stderr(output);
        let started = Instant::now();
        let mut group = Group::spawn(&mut command).map_err(|source| LaunchError::Spawn {
            executable: self.executable.to_path_buf(),
            source,
        })?;
        let name = &self.oracle.spec.name;
        let client = Client::new(name, self.port, self.settings.request_timeout)?;
        self.wait_until_ready(&mut group, &client, started)?;
        let question = readback::Question {
            oracle: self.oracle,
            checkpoint: self.checkpoint,
            settings: self.settings,
            executable: self.executable,
            flags: &self.flags,
            log: &self.log,
        };
        let (identity, vocabulary) = question.ask(&client)?;
        let client = client.with_vocabulary(vocabulary);
        Ok(Server { group, client, log: self.log, identity })
    }

    /// Ready is: it says that it is healthy, and it has really generated a token.
    fn wait_until_ready(
        &self,
        group: &mut Group,
        client: &Client,
        started: Instant,
    ) -> Result<(), LaunchError> {
        let mut last = "no answer yet".to_owned();
        while started.elapsed() < self.settings.ready_timeout {
            if let Some(status) = group.ended().ok().flatten() {
                return Err(self.died(status.to_string()));
            }
            match client.healthy() {
                Ok(true) => {
                    return client.complete(&first_token()).map(|_| ()).map_err(
                        |error| match group.ended().ok().flatten() {
                            Some(status) => self.died(status.to_string()),
                            None => self.not_ready(error.to_string()),
                        },
                    );
                }
                Ok(false) => "still loading".clone_into(&mut last),
                Err(error) => last = error.to_string(),
            }
            thread::sleep(POLL);
        }
        Err(self.not_ready(last))
    }

    fn died(&self, status: String) -> LaunchError {
        let oracle = self.oracle.spec.name.clone();
        // Somebody took the port between our look and its start.
        if let Err(error @ LaunchError::PortInUse { .. }) = free_port(&oracle, Some(self.port)) {
            return error;
        }
        let (log, tail) = (self.log.clone(), logs::tail(&self.log));
        LaunchError::Died { oracle, status, log, tail }
    }

    fn not_ready(&self, last: String) -> LaunchError {
        LaunchError::NotReady {
            oracle: self.oracle.spec.name.clone(),
            seconds: self.settings.ready_timeout.as_secs(),
            last,
            log: self.log.clone(),
            tail: logs::tail(&self.log),
        }
    }
}

/// The smallest real request; every vocabulary has a token 0.
fn first_token() -> CompletionRequest {
    CompletionRequest { prompt_ids: vec![0], max_tokens: 1, top_logprobs: 0, ignore_eos: false }
}

impl Server {
    /// The server's log.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The process, which is also its group.
    pub fn process_id(&self) -> u32 {
        self.group.child.id()
    }

    /// An error of the client as it is when the process has died: that it has.
    fn judged<T>(
        &mut self,
        verb: &'static str,
        answer: Result<T, VerbError>,
    ) -> Result<T, VerbError> {
        let Err(error @ VerbError::Transport { .. }) = answer else { return answer };
        // The connection breaks a moment before the process can be waited for.
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline {
            if let Some(status) = self.group.ended().ok().flatten() {
                return Err(VerbError::Died {
                    oracle: self.identity.name.clone(),
                    verb,
                    status: status.to_string(),
                    log: self.log.clone(),
                    tail: logs::tail(&self.log),
                });
            }
            thread::sleep(POLL);
        }
        Err(error)
    }
}

impl Oracle for Server {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn tokenize(
        &mut self,
        text: &str,
        add_special: bool,
        parse_special: bool,
    ) -> Result<Vec<u32>, VerbError> {
        let answer = self.client.tokenize(text, add_special, parse_special);
        self.judged("tokenize", answer)
    }

    fn detokenize(&mut self, ids: &[u32]) -> Result<String, VerbError> {
        let answer = self.client.detokenize(ids);
        self.judged("detokenize", answer)
    }

    fn render_chat(&mut self, messages: &[Message]) -> Result<String, VerbError> {
        let answer = self.client.render_chat(messages);
        self.judged("render_chat", answer)
    }

    fn complete(&mut self, request: &CompletionRequest) -> Result<Completion, VerbError> {
        let answer = self.client.complete(request);
        self.judged("complete", answer)
    }
}
