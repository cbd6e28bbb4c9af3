//! Starting an oracle and stopping it, whatever happens to us.

use std::fmt::Debug;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::checkpoint::Checkpoint;
use crate::process::{Group, POLL};
use crate::provision::Provisioned;
use crate::registry::{Protocol, Provisioner};
use crate::verbs::{
    Cached, Completion, CompletionRequest, Identity, Message, Oracle, PrefillRequest, ScoredChunk,
    Step, TensorQuestion, Together, VerbError,
};
use crate::{Home, Progress, Result, logs, provision, verbs};

mod answer;
mod container;
mod driver;
mod error;
mod http;
mod llama_server;
mod python;
mod said;
mod score;
mod sglang;
mod start;
mod together;
mod variant;
mod vllm;
mod vocabulary;

pub use error::LaunchError;

pub use crate::process::stop_all;
use start::Start;
pub use variant::{Variant, pinned_arguments};

/// The name under which an oracle serves its model, where its interface wants one.
pub const MODEL: &str = "oracle";

/// How an oracle is launched. The default is the one goldens are captured with. Each protocol uses what it knows.
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
    /// In what the weights are held and activations are rounded; a GGUF file decides that itself.
    pub dtype: Dtype,
    /// Sequences of a batch, each with `context` tokens.
    pub sequences: u32,
    /// What is otherwise than in the pinned launch.
    pub variant: Variant,
    /// Refuse an oracle that does not run as it does in production, or that does not say.
    pub production: bool,
    /// More arguments, after those of the registry file.
    pub arguments: Vec<String>,
    /// How long it may take until it answers a request.
    pub ready_timeout: Duration,
    /// How long one answer may take.
    pub request_timeout: Duration,
    /// The port; a free one when `None`.
    pub port: Option<u16>,
}

/// A floating-point type of weights and activations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// 8 bits of exponent, 7 of fraction.
    Bfloat16,
    /// IEEE 754 binary16.
    Float16,
    /// IEEE 754 binary32.
    Float32,
}

impl Dtype {
    /// As PyTorch names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bfloat16 => "bfloat16",
            Self::Float16 => "float16",
            Self::Float32 => "float32",
        }
    }
}

impl Default for LaunchSettings {
    fn default() -> Self {
        Self {
            // With one thread no reduction is split over threads, so its bits do not depend on them.
            threads: 1,
            context: 4096,
            batch: 2048,
            ubatch: 512,
            dtype: Dtype::Bfloat16,
            // Alone in its batch, so that no other request decides how it is computed.
            sequences: 1,
            variant: Variant::Pinned,
            production: false,
            arguments: Vec::new(),
            ready_timeout: Duration::from_mins(10),
            request_timeout: Duration::from_mins(10),
            port: None,
        }
    }
}

/// The verbs as one protocol speaks them.
trait Client: Debug + Send {
    /// Whether it says that it is ready; an error while it cannot be reached.
    fn healthy(&self) -> Result<bool, VerbError>;
    fn tokenize(&mut self, text: &str, add: bool, parse: bool) -> Result<Vec<u32>, VerbError>;
    fn detokenize(&mut self, ids: &[u32]) -> Result<String, VerbError>;
    fn render_chat(&mut self, messages: &[Message]) -> Result<String, VerbError>;
    fn complete(&mut self, request: &CompletionRequest) -> Result<Completion, VerbError>;
    /// See [`Oracle::complete_together`]; `None` where the protocol has no such verb.
    fn complete_together(
        &mut self,
        _: &[CompletionRequest],
        _width: u32,
    ) -> Option<Result<Together, VerbError>> {
        None
    }
    /// See [`Oracle::complete_cached`]; `None` where the protocol, or this launch of it, has no such verb.
    fn complete_cached(&mut self, _: &CompletionRequest) -> Option<Result<Cached, VerbError>> {
        None
    }
    /// See [`Oracle::prefill`]; `None` where rankings inside a prompt are not reported.
    fn prefill(&mut self, _: &PrefillRequest) -> Option<Result<Vec<Step>, VerbError>> {
        None
    }
    /// See [`Server::dump`]; `None` where the protocol has no such verb.
    fn dump(&mut self, _: &[u32], _: &Path, _layers: bool) -> Option<Result<(), VerbError>> {
        None
    }
    /// See [`Oracle::tensors`]; `None` where the protocol has no such verb.
    fn tensors(&mut self, _: &TensorQuestion, _: &Path) -> Option<Result<(), VerbError>> {
        None
    }
    /// Log-probabilities of the whole vocabulary behind each of `ids`, in their order; the last may be left out. `None`
    /// where the protocol has no such verb.
    fn rows(&mut self, _ids: &[u32]) -> Option<Result<Vec<Vec<f32>>, VerbError>> {
        None
    }
    /// See [`Oracle::score`]; `None` where the protocol cannot.
    fn score(&mut self, text: &str, context: usize) -> Option<Result<Vec<ScoredChunk>, VerbError>> {
        score::by_rows(self, text, context)
    }
}

/// What runs for us.
#[derive(Debug)]
struct Process {
    group: Group,
    /// Dropped after the group: what the group's end did not end.
    container: Option<container::Running>,
}

/// A running oracle; dropping it stops its whole process group.
#[derive(Debug)]
pub struct Server {
    /// `None` where it is not ours.
    process: Option<Process>,
    client: Box<dyn Client>,
    /// Where it listens; `None` where it does not, or is not ours.
    address: Option<SocketAddr>,
    log: PathBuf,
    identity: Identity,
}

/// Starts the oracle on `checkpoint` and waits until it really answers. The installation is
/// verified first, and what the process says about itself is compared with what was asked.
pub fn launch(
    home: &Home,
    oracle: &Provisioned,
    checkpoint: &Checkpoint,
    settings: &LaunchSettings,
    progress: Progress,
) -> Result<Server> {
    let declared = &oracle.spec.declared;
    let attached = matches!(declared.provisioner(), Some(Provisioner::Attach(_)));
    if !attached {
        provision::Manifest::read_verified(&oracle.dir, progress)?;
    }
    let start = Start { home, oracle, checkpoint, settings, progress };
    let Some(launch) = &declared.launch else {
        let (name, path) = (oracle.spec.name.clone(), oracle.spec.path.clone());
        return Err(LaunchError::NoLaunch { name, path }.into());
    };
    let server = match launch.protocol {
        Protocol::LlamaServer => llama_server::start(&start, launch),
        Protocol::Driver => driver::start(&start, launch),
        Protocol::Vllm => vllm::start(&start, launch),
        Protocol::Sglang => sglang::start(&start, launch),
    };
    Ok(server?)
}

impl Server {
    /// The oracle's log; of one that is not ours a path that does not exist.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Where it listens for HTTP; `None` of one that is not ours, or speaks through pipes.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The process, which is also its group; `None` where it is not ours.
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.group.id())
    }

    /// Writes a safetensors file of one forward pass over `ids`: `logits` of every position (the head's rows, in the
    /// dtype in which they were computed), `ids`, and with `layers` the residual stream `hidden_states.0` after the
    /// embedding, `hidden_states.N` after layer N, of which the last has passed the final norm.
    pub fn dump(&mut self, ids: &[u32], path: &Path, layers: bool) -> Result<(), VerbError> {
        let verb = "dump";
        if let Some(answer) = self.client.dump(ids, path, layers) {
            return self.judged(verb, answer);
        }
        let request = format!("{} ids", ids.len());
        Err(VerbError::Unanswerable { oracle: self.identity.name.clone(), verb, request })
    }

    /// An error of the client as it is when the process has died: that it has.
    fn judged<T>(
        &mut self,
        verb: &'static str,
        answer: Result<T, VerbError>,
    ) -> Result<T, VerbError> {
        let Err(error @ VerbError::Transport { .. }) = answer else { return answer };
        let Some(process) = &mut self.process else { return Err(error) };
        // The connection breaks a moment before the process can be waited for.
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline {
            if let Some(status) = process.group.ended().ok().flatten() {
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

    fn complete_together(
        &mut self,
        requests: &[CompletionRequest],
        width: u32,
    ) -> Result<Together, VerbError> {
        let verb = "complete_together";
        match self.client.complete_together(requests, width) {
            Some(answer) => self.judged(verb, answer),
            None => Err(verbs::not_offered(self, verb)),
        }
    }

    fn complete_cached(&mut self, request: &CompletionRequest) -> Result<Cached, VerbError> {
        let verb = "complete_cached";
        match self.client.complete_cached(request) {
            Some(answer) => self.judged(verb, answer),
            None => Err(verbs::not_offered(self, verb)),
        }
    }

    fn prefill(&mut self, request: &PrefillRequest) -> Result<Vec<Step>, VerbError> {
        match self.client.prefill(request) {
            Some(answer) => self.judged("prefill", answer),
            None => verbs::prefill_each(self, request),
        }
    }

    fn tensors(&mut self, question: &TensorQuestion, path: &Path) -> Result<(), VerbError> {
        match self.client.tensors(question, path) {
            Some(answer) => self.judged("tensors", answer),
            None => Err(verbs::not_offered(self, "tensors")),
        }
    }

    fn score(&mut self, text: &str, context: usize) -> Result<Vec<ScoredChunk>, VerbError> {
        match self.client.score(text, context) {
            Some(answer) => self.judged("score", answer),
            None => Err(verbs::not_offered(self, "score")),
        }
    }
}
