//! Starting an oracle's server and stopping it, whatever happens to us.

use std::path::PathBuf;
use std::time::Duration;

use crate::checkpoint::Checkpoint;
use crate::provision::Provisioned;
use crate::verbs::{Completion, CompletionRequest, Identity, Message, Oracle, VerbError};
use crate::{Home, Result};

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
            ready_timeout: Duration::from_secs(120),
            request_timeout: Duration::from_secs(600),
            port: None,
        }
    }
}

/// An oracle did not start, did not become ready, or is not what its pin says.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The registry file has no `[launch]`.
    #[error("oracle {name} cannot be launched: {path} has no [launch]", path = .path.display())]
    NoLaunch {
        /// Registry name.
        name: String,
        /// Its file.
        path: PathBuf,
    },
}

/// A running oracle; dropping it stops its whole process group.
#[derive(Debug)]
pub struct Server {
    identity: Identity,
}

/// Starts the server on `checkpoint` and waits until it really answers.
pub fn launch(
    _home: &Home,
    _oracle: &Provisioned,
    _checkpoint: &Checkpoint,
    _settings: &LaunchSettings,
) -> Result<Server> {
    todo!()
}

/// Stops every live server's process group; for a signal handler. Idempotent.
pub fn stop_all() {
    todo!()
}

impl Server {
    /// The server's log.
    pub fn log(&self) -> &std::path::Path {
        todo!()
    }
}

impl Oracle for Server {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn tokenize(&mut self, _: &str, _: bool, _: bool) -> Result<Vec<u32>, VerbError> {
        todo!()
    }

    fn detokenize(&mut self, _: &[u32]) -> Result<String, VerbError> {
        todo!()
    }

    fn render_chat(&mut self, _: &[Message]) -> Result<String, VerbError> {
        todo!()
    }

    fn complete(&mut self, _: &CompletionRequest) -> Result<Completion, VerbError> {
        todo!()
    }
}
