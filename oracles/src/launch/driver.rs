//! A driver script of ours: JSON lines on standard input and output, one answer a request.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::answer::{self, Fault};
use super::start::Start;
use super::variant::Words;
use super::{Client, LaunchError, Process, Server, python, score};
use crate::digest::sha256_file;
use crate::place::PlaceError;
use crate::process::Group;
use crate::registry::{LaunchSpec, Provisioner};
use crate::verbs::{
    Completion, CompletionRequest, Message, PrefillRequest, Step, TensorQuestion, Together,
    VerbError,
};

mod readback;

/// Starts the driver on a folder of safetensors and checks who it says it is.
pub(super) fn start(start: &Start<'_>, launch: &LaunchSpec) -> Result<Server, LaunchError> {
    start.expect_checkpoint("a folder with config.json", |path| {
        path.join("config.json").is_file()
    })?;
    let Some(Provisioner::Venv(venv)) = start.oracle.spec.declared.provisioner() else {
        return Err(start.pairing());
    };
    let python::Program { mut command, python } =
        python::program(start, venv, &launch.environment)?;
    let script = start.home.root.join("oracles/drivers").join(&launch.executable);
    let (script_sha256, _) =
        sha256_file(&script).map_err(|error| PlaceError::new("read", &script, error))?;
    let mut flags = vec!["--model".to_owned(), start.checkpoint.path.display().to_string()];
    for (flag, value) in [
        ("--dtype", start.settings.dtype.name().to_owned()),
        ("--threads", start.settings.threads.to_string()),
        ("--context", start.settings.context.to_string()),
    ] {
        flags.extend([flag.to_owned(), value]);
    }
    flags.extend(launch.arguments.iter().chain(&start.settings.arguments).cloned());
    let variant = Words::of(start, launch.protocol)?;
    flags.extend(variant.arguments.clone());
    command.arg(&script).args(&flags);

    let log = start.log()?;
    let write = |error| PlaceError::new("write", &log, error);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(std::fs::File::create(&log).map_err(write)?);
    let mut group = Group::spawn_with_stdin(&mut command)
        .map_err(|source| LaunchError::Spawn { executable: python.path.clone(), source })?;
    let label = format!("starting {} on {}", start.name(), start.checkpoint.name);
    let _stage = start.progress.steps(&label, None);
    let mut client = Lines::new(start, &mut group).map_err(LaunchError::Verb)?;
    let hello = client.hello(start.settings.ready_timeout);
    let said: Said =
        hello.map_err(|error| readback::not_started(start, &mut group, &log, error))?;
    let identity = readback::Question {
        start,
        launch,
        variant: &variant,
        python: &python,
        script_sha256: &script_sha256,
        flags: &flags,
        log: &log,
    }
    .check(said)?;
    client.vocabulary = identity.settings.get("n_vocab").and_then(|size| size.parse().ok());
    let process = Some(Process { group, container: None });
    Ok(Server { process, client: Box::new(client), address: None, log, identity })
}

/// What a driver says about itself, unasked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    build: BTreeMap<String, String>,
    settings: BTreeMap<String, String>,
}

/// One line of a driver.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Ok(Value),
    Error { kind: String, message: String },
}

/// The driver's two pipes.
#[derive(Debug)]
struct Lines {
    oracle: String,
    input: ChildStdin,
    output: Receiver<io::Result<String>>,
    timeout: Duration,
    vocabulary: Option<usize>,
    /// An answer did not come in time: the next line would answer an earlier request.
    behind: bool,
}

impl Lines {
    fn new(start: &Start<'_>, group: &mut Group) -> Result<Self, VerbError> {
        let pipes = (group.child.stdin.take(), group.child.stdout.take());
        let (Some(input), Some(stdout)) = pipes else {
            let error = io::Error::from(io::ErrorKind::BrokenPipe);
            return Err(transport(start.name(), "hello", "it has no pipes", error));
        };
        let (sender, output) = channel();
        // Ends with the pipe, which ends with the process.
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let timeout = start.settings.request_timeout;
        let oracle = start.name().to_owned();
        Ok(Self { oracle, input, output, timeout, vocabulary: None, behind: false })
    }

    fn hello<T: DeserializeOwned>(&mut self, timeout: Duration) -> Result<T, VerbError> {
        self.receive("hello", timeout)
    }

    /// Sends one request and reads its answer.
    fn ask<T: DeserializeOwned>(
        &mut self,
        verb: &'static str,
        mut request: Value,
    ) -> Result<T, VerbError> {
        if self.behind {
            let error = io::Error::from(io::ErrorKind::TimedOut);
            return Err(transport(&self.oracle, verb, "it still owes an earlier answer", error));
        }
        request["verb"] = verb.into();
        let line = format!("{request}\n");
        let sent = self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush());
        sent.map_err(|error| transport(&self.oracle, verb, "the pipe broke", error))?;
        self.receive(verb, self.timeout)
    }

    fn receive<T: DeserializeOwned>(
        &mut self,
        verb: &'static str,
        timeout: Duration,
    ) -> Result<T, VerbError> {
        let line = match self.output.recv_timeout(timeout) {
            Ok(Ok(line)) => line,
            Ok(Err(error)) => return Err(transport(&self.oracle, verb, "the pipe broke", error)),
            Err(RecvTimeoutError::Disconnected) => {
                let error = io::Error::from(io::ErrorKind::UnexpectedEof);
                return Err(transport(&self.oracle, verb, "the pipe broke", error));
            }
            Err(RecvTimeoutError::Timeout) => {
                self.behind = true;
                let error = io::Error::from(io::ErrorKind::TimedOut);
                return Err(transport(&self.oracle, verb, "it took too long", error));
            }
        };
        let malformed = |expected: &str, error: serde_json::Error| {
            Fault::new("line", expected, error.to_string()).of(&self.oracle, verb)
        };
        match serde_json::from_str(&line).map_err(|error| malformed("ok or error", error))? {
            Line::Ok(answer) => {
                serde_json::from_value(answer).map_err(|error| malformed("its answer", error))
            }
            // A driver has no statuses; these are the ones of a server that says the same.
            Line::Error { kind, message } => Err(VerbError::Refused {
                oracle: self.oracle.clone(),
                verb,
                status: if kind == "refused" { 422 } else { 400 },
                message,
            }),
        }
    }
}

impl Lines {
    /// The log-softmax of the logits that it dumps.
    fn dumped_rows(&mut self, ids: &[u32]) -> Result<Vec<Vec<f32>>, VerbError> {
        let verb = "dump";
        let oracle = self.oracle.clone();
        let lost = |error| transport(&oracle, verb, "its file cannot be read", error);
        let folder = tempfile::tempdir().map_err(lost)?;
        let path = folder.path().join("logits.safetensors");
        let request = json!({"ids": ids, "path": path, "layers": false});
        let _: Value = self.ask(verb, request)?;
        let read = score::logits(&std::fs::read(&path).map_err(lost)?);
        let (logits, width) = read.map_err(|fault| fault.of(&oracle, verb))?;
        Ok(score::log_softmax(&logits, width))
    }
}

fn transport(oracle: &str, verb: &'static str, reason: &str, error: io::Error) -> VerbError {
    VerbError::Transport {
        oracle: oracle.to_owned(),
        verb,
        reason: reason.to_owned(),
        source: error.into(),
    }
}

impl Lines {
    /// Padded batches of `width` requests, one after the other.
    fn batches(
        &mut self,
        requests: &[CompletionRequest],
        width: u32,
    ) -> Result<Together, VerbError> {
        let verb = "complete_together";
        let vocabulary = self.vocabulary.unwrap_or(usize::MAX);
        let mut together = Together { completions: Vec::with_capacity(requests.len()), at_once: 0 };
        for batch in requests.chunks(width.max(1) as usize) {
            let said: Vec<Completion> = self.ask(verb, json!({ "requests": batch }))?;
            if said.len() != batch.len() {
                let fault = Fault::new("ok", batch.len().to_string(), said.len().to_string());
                return Err(fault.of(&self.oracle, verb));
            }
            for (said, request) in said.into_iter().zip(batch) {
                let read = answer::complete(said, request, vocabulary);
                together.completions.push(read.map_err(|fault| fault.of(&self.oracle, verb))?);
            }
            together.at_once = together.at_once.max(batch.len() as u32);
        }
        Ok(together)
    }

    /// One forward pass over all tokens.
    fn one_pass(&mut self, request: &PrefillRequest) -> Result<Vec<Step>, VerbError> {
        let verb = "prefill";
        let said: Vec<Step> = self.ask(verb, json!(request))?;
        let vocabulary = self.vocabulary.unwrap_or(usize::MAX);
        answer::prefilled(said, request, vocabulary).map_err(|fault| fault.of(&self.oracle, verb))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ids {
    ids: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    text: String,
}

impl Client for Lines {
    fn healthy(&self) -> Result<bool, VerbError> {
        Ok(true)
    }

    fn tokenize(&mut self, text: &str, add: bool, parse: bool) -> Result<Vec<u32>, VerbError> {
        let request = json!({"text": text, "add_special": add, "parse_special": parse});
        self.ask("tokenize", request).map(|answer: Ids| answer.ids)
    }

    fn detokenize(&mut self, ids: &[u32]) -> Result<String, VerbError> {
        self.ask("detokenize", json!({"ids": ids})).map(|answer: Text| answer.text)
    }

    fn render_chat(&mut self, messages: &[Message]) -> Result<String, VerbError> {
        self.ask("render_chat", json!({"messages": messages})).map(|answer: Text| answer.text)
    }

    fn complete(&mut self, request: &CompletionRequest) -> Result<Completion, VerbError> {
        let said: Completion = self.ask("complete", json!(request))?;
        answer::complete(said, request, self.vocabulary.unwrap_or(usize::MAX))
            .map_err(|fault| fault.of(&self.oracle, "complete"))
    }

    fn complete_together(
        &mut self,
        requests: &[CompletionRequest],
        width: u32,
    ) -> Option<Result<Together, VerbError>> {
        Some(self.batches(requests, width))
    }

    fn prefill(&mut self, request: &PrefillRequest) -> Option<Result<Vec<Step>, VerbError>> {
        Some(self.one_pass(request))
    }

    fn dump(&mut self, ids: &[u32], path: &Path, layers: bool) -> Option<Result<(), VerbError>> {
        let request = json!({"ids": ids, "path": path, "layers": layers});
        Some(self.ask("dump", request).map(|_: Value| ()))
    }

    fn tensors(&mut self, question: &TensorQuestion, path: &Path) -> Option<Result<(), VerbError>> {
        let (verb, mut request) = match question {
            TensorQuestion::Inside(asked) => {
                ("inside", json!({ "ids": asked.ids, "within_layers": asked.within_layers }))
            }
            TensorQuestion::Op(asked) => ("op", json!(asked)),
        };
        request["path"] = json!(path);
        Some(self.ask(verb, request).map(|_: Value| ()))
    }

    fn rows(&mut self, ids: &[u32]) -> Option<Result<Vec<Vec<f32>>, VerbError>> {
        Some(self.dumped_rows(ids))
    }
}
