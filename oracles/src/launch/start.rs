//! Starting a server of ours: a free port, a process group, readiness, and comparing what it says with what was asked.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::http::Http;
use super::{Client, LaunchError, LaunchSettings, Process, Server};
use crate::checkpoint::Checkpoint;
use crate::place::PlaceError;
use crate::process::{Group, POLL};
use crate::provision::Provisioned;
use crate::registry::Device;
use crate::verbs::{CompletionRequest, Identity};
use crate::{Home, Progress, logs};

/// Where every server of ours listens.
pub(super) const HOST: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// With a port of our own choice: how often another is tried when somebody takes it first.
const PORT_ATTEMPTS: u32 = 3;
/// How long the log may take to show what was written before readiness.
const LOG_DELAY: Duration = Duration::from_secs(3);
/// How often a wait is said to go on.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// What is to be started.
pub(super) struct Start<'a> {
    pub(super) home: &'a Home,
    pub(super) oracle: &'a Provisioned,
    pub(super) checkpoint: &'a Checkpoint,
    pub(super) settings: &'a LaunchSettings,
    pub(super) progress: Progress,
}

impl Start<'_> {
    pub(super) fn name(&self) -> &str {
        &self.oracle.spec.name
    }

    /// Refuses a checkpoint of another kind than `fits`.
    pub(super) fn expect_checkpoint(
        &self,
        expected: &'static str,
        fits: impl Fn(&Path) -> bool,
    ) -> Result<(), LaunchError> {
        let path = &self.checkpoint.path;
        if fits(path) {
            return Ok(());
        }
        let (oracle, path) = (self.name().to_owned(), path.clone());
        Err(LaunchError::Checkpoint { oracle, expected, path })
    }

    /// Refuses when the process says something else than what was pinned or asked.
    pub(super) fn expect(
        &self,
        log: &Path,
        key: &str,
        expected: &str,
        found: &str,
    ) -> Result<(), LaunchError> {
        if expected == found {
            return Ok(());
        }
        Err(LaunchError::Contradiction {
            oracle: self.name().to_owned(),
            key: key.to_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
            log: log.to_path_buf(),
        })
    }

    /// Refuses when one of `settings` is not said, or is not what is expected of it.
    pub(super) fn expect_each<'k>(
        &self,
        log: &Path,
        settings: &BTreeMap<String, String>,
        expected: impl IntoIterator<Item = (&'k str, String)>,
    ) -> Result<(), LaunchError> {
        for (key, expected) in expected {
            let found = settings.get(key).ok_or_else(|| self.silent(key, log))?;
            self.expect(log, key, &expected, found)?;
        }
        Ok(())
    }

    /// The device on which it is declared to compute, as PyTorch names it.
    pub(super) fn device(&self) -> &'static str {
        match self.oracle.spec.declared.device {
            Device::Cpu => "cpu",
            Device::Cuda => "cuda",
        }
    }

    /// What a log says of the configuration, as `parse` reads it, once all of it is there: `missing` names what is not.
    pub(super) fn account<S>(
        &self,
        log: &Path,
        parse: impl Fn(&str) -> S,
        missing: impl Fn(&S) -> Option<&'static str>,
    ) -> Result<S, LaunchError> {
        let deadline = Instant::now() + LOG_DELAY;
        loop {
            let bytes = std::fs::read(log).unwrap_or_default();
            let said = parse(&String::from_utf8_lossy(&bytes));
            match missing(&said) {
                None => return Ok(said),
                Some(key) if Instant::now() >= deadline => return Err(self.silent(key, log)),
                Some(_) => thread::sleep(POLL),
            }
        }
    }

    /// That the process does not say its `key`.
    pub(super) fn silent(&self, key: &str, log: &Path) -> LaunchError {
        LaunchError::Silent {
            oracle: self.name().to_owned(),
            key: key.to_owned(),
            log: log.to_path_buf(),
        }
    }

    /// That this protocol does not go with the way in which the oracle was provisioned.
    pub(super) fn pairing(&self) -> LaunchError {
        let spec = &self.oracle.spec;
        LaunchError::Pairing {
            name: spec.name.clone(),
            path: spec.path.clone(),
            protocol: spec
                .declared
                .launch
                .as_ref()
                .map_or("nothing", |launch| launch.protocol.name()),
            provisioner: spec.declared.provisioner().map_or("nothing", |table| table.name()),
        }
    }

    /// The flags with what lies in a cache named by its file alone: where a cache lies says nothing about what ran, and
    /// the digests are kept beside the identity.
    pub(super) fn portable(&self, flags: &[String]) -> Vec<String> {
        let path = &self.checkpoint.path;
        let (whole, name) = (path.display().to_string(), path.file_name());
        let portable = |flag: &String| match name {
            Some(name) if *flag == whole => name.to_string_lossy().into_owned(),
            _ => flag.clone(),
        };
        flags.iter().map(portable).collect()
    }

    /// A new log for this start.
    pub(super) fn log(&self) -> Result<PathBuf, PlaceError> {
        logs::create(self.home, &format!("oracle-{}", self.name()))
    }
}

/// Runs `attempt` with a free port, again when somebody takes a port that we chose.
pub(super) fn with_port(
    start: &Start<'_>,
    attempt: impl Fn(u16) -> Result<Server, LaunchError>,
) -> Result<Server, LaunchError> {
    let wanted = start.settings.port;
    let mut count = 1;
    loop {
        match attempt(free_port(start.name(), wanted)?) {
            Err(LaunchError::PortInUse { .. }) if wanted.is_none() && count < PORT_ATTEMPTS => {
                count += 1;
            }
            other => return other,
        }
    }
}

/// The wanted port when nobody has it, or one that the system says is free.
fn free_port(oracle: &str, wanted: Option<u16>) -> Result<u16, LaunchError> {
    let bound = TcpListener::bind((HOST, wanted.unwrap_or(0)));
    let port = bound.and_then(|listener| listener.local_addr()).map(|address| address.port());
    port.map_err(|source| LaunchError::PortInUse {
        oracle: oracle.to_owned(),
        port: wanted.unwrap_or(0),
        source,
    })
}

/// One attempt to start a server.
pub(super) struct Attempt<'a> {
    start: &'a Start<'a>,
    port: u16,
    process: Process,
    pub(super) log: PathBuf,
    started: Instant,
}

impl<'a> Attempt<'a> {
    /// Starts `command`, its output in a new log.
    pub(super) fn spawn(
        start: &'a Start<'a>,
        port: u16,
        mut command: Command,
    ) -> Result<Self, LaunchError> {
        let log = start.log()?;
        let write = |error| PlaceError::new("write", &log, error);
        let output = std::fs::File::create(&log).map_err(write)?;
        command.stdout(output.try_clone().map_err(write)?).stderr(output);
        let started = Instant::now();
        let group = Group::spawn(&mut command).map_err(|source| LaunchError::Spawn {
            executable: command.get_program().into(),
            source,
        })?;
        Ok(Self { start, port, process: Process { group, container: None }, log, started })
    }

    /// The container that ends with the process.
    pub(super) fn in_container(mut self, container: Option<super::container::Running>) -> Self {
        self.process.container = container;
        self
    }

    /// An HTTP client of the server.
    pub(super) fn client(&self) -> Result<Http, LaunchError> {
        let base = format!("http://{HOST}:{}", self.port);
        Http::new(self.start.name(), base, self.start.settings.request_timeout)
    }

    /// Ready is: it says that it is healthy, and it has really generated a token.
    pub(super) fn wait_until_ready(&mut self, client: &mut dyn Client) -> Result<(), LaunchError> {
        let mut last = "no answer yet".to_owned();
        let label = format!("starting {} on {}", self.start.name(), self.start.checkpoint.name);
        let mut stage = self.start.progress.steps(&label, None);
        let mut said = Instant::now();
        while self.started.elapsed() < self.start.settings.ready_timeout {
            if let Some(status) = self.ended() {
                return Err(self.died(status));
            }
            match client.healthy() {
                Ok(true) => {
                    let answer = client.complete(&first_token());
                    return answer.map(|_| ()).map_err(|error| match self.ended() {
                        Some(status) => self.died(status),
                        None => self.not_ready(error.to_string()),
                    });
                }
                Ok(false) => "still loading".clone_into(&mut last),
                Err(error) => last = error.to_string(),
            }
            if said.elapsed() >= SIGN_OF_LIFE {
                stage.say(&format!("{} s", self.started.elapsed().as_secs()));
                said = Instant::now();
            }
            stage.advance(0);
            thread::sleep(POLL);
        }
        Err(self.not_ready(last))
    }

    fn ended(&mut self) -> Option<String> {
        self.process.group.ended().ok().flatten().map(|status| status.to_string())
    }

    fn died(&self, status: String) -> LaunchError {
        let oracle = self.start.name().to_owned();
        // Somebody took the port between our look and its start.
        if let Err(error @ LaunchError::PortInUse { .. }) = free_port(&oracle, Some(self.port)) {
            return error;
        }
        let (log, tail) = (self.log.clone(), logs::tail(&self.log));
        LaunchError::Died { oracle, status, log, tail }
    }

    fn not_ready(&self, last: String) -> LaunchError {
        LaunchError::NotReady {
            oracle: self.start.name().to_owned(),
            seconds: self.start.settings.ready_timeout.as_secs(),
            last,
            log: self.log.clone(),
            tail: logs::tail(&self.log),
        }
    }

    /// The running server.
    pub(super) fn into_server(self, client: Box<dyn Client>, identity: Identity) -> Server {
        let address = Some((HOST, self.port).into());
        Server { process: Some(self.process), client, address, log: self.log, identity }
    }
}

/// The smallest real request; every vocabulary has a token 0.
fn first_token() -> CompletionRequest {
    CompletionRequest { prompt_ids: vec![0], max_tokens: 1, top_logprobs: 0, ignore_eos: false }
}
