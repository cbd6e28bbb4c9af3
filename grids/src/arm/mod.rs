//! What is measured: a server that we start, how to ask it, and who it says it is.
//!
//! Dropping a [`Running`] arm stops its whole process group. Our own engine is an arm like any other: its shipped binary behind
//! its own HTTP interface.

mod oracle;
mod plumb;

use std::net::SocketAddr;
use std::path::PathBuf;

use oracles::Home;
use oracles::checkpoint::{self, Checkpoint, CheckpointSpec};
use oracles::launch::Server;
use oracles::process::Group;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::load::request::{Dialect, Target};
use crate::spec::PrefixCache;

pub use plumb::{BY_HAND, Plumb, is_by_hand};

/// The name of our own engine among the arms; every other name is an oracle's of the registry.
pub const OURS: &str = "plumb";

/// How an arm's server is started, the same for every arm of a series but for the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Launch {
    /// [`OURS`], or an oracle's name in the registry.
    pub engine: String,
    /// Another binary of ours than the ground's.
    pub binary: Option<PathBuf>,
    /// The checkpoint's name.
    pub checkpoint: String,
    /// Threads of computation.
    pub threads: u32,
    /// Tokens of context of one sequence.
    pub context: u32,
    /// Whether it may answer from what an earlier request left behind.
    pub prefix_cache: PrefixCache,
    /// Sequences that the server has to take at once.
    pub sequences: u32,
    /// More arguments of its command line, after those that its registry file fixes: the switch of an A/B, for example.
    #[serde(default)]
    pub arguments: Vec<String>,
}

/// Where arms are started from.
pub struct Ground<'a> {
    /// The workspace and the cache.
    pub home: &'a Home,
    /// Our engine's binary.
    pub plumb: &'a Plumb,
    /// Where progress is shown.
    pub progress: oracles::Progress,
}

/// A server that answers, and who it is.
#[derive(Debug)]
pub struct Running {
    /// How to ask it.
    pub target: Target,
    /// What it said of itself.
    pub identity: Value,
    /// Whether it keeps prefixes for later requests, as it said; `None` where it does not say.
    pub prefix_cache: Option<bool>,
    /// The bytes of its checkpoint.
    pub checkpoint_sha256: String,
    /// Its process, which leads a group of its own.
    pub process: Option<u32>,
    /// Wall time from the start of the process until it had answered a request, in milliseconds.
    pub ready_ms: u64,
    _server: Held,
}

/// What stops when it is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "held for its end")]
enum Held {
    Oracle(Box<Server>),
    Ours(Group),
}

/// An arm that cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// Something of the oracles' side is missing or contradicts its pin.
    #[error("arm {engine} on {checkpoint}")]
    Oracle {
        /// The engine.
        engine: String,
        /// The checkpoint.
        checkpoint: String,
        /// Why.
        #[source]
        source: oracles::Error,
    },
    /// The oracle is declared and not here.
    #[error("{engine} is not provisioned: `gate oracle provision {engine}`")]
    NotProvisioned {
        /// The engine.
        engine: String,
    },
    /// The checkpoint is declared and not here.
    #[error("{checkpoint} is not here: `gate fetch {checkpoint}`")]
    NoCheckpoint {
        /// The checkpoint.
        checkpoint: String,
    },
    /// The oracle answers no load over HTTP.
    #[error("{engine} listens on no address of this machine, so that it takes no load")]
    NoAddress {
        /// The engine.
        engine: String,
    },
    /// Our engine did not come up.
    #[error("plumb: {reason}; its log is {log}")]
    Plumb {
        /// What happened.
        reason: String,
        /// What it wrote.
        log: PathBuf,
    },
    /// The plan names an arm that the spec does not declare.
    #[error("no arm is named {arm}")]
    Undeclared {
        /// The arm.
        arm: String,
    },
    /// Our binary cannot be used.
    #[error("cannot use the plumb binary {path}: {reason}")]
    Binary {
        /// Where it should be.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

impl ArmError {
    /// Something that is missing, as opposed to something that went wrong: the cell is skipped.
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::NotProvisioned { .. } | Self::NoCheckpoint { .. })
    }
}

impl Launch {
    /// Starts the server and waits until it answers.
    pub fn start(&self, ground: &Ground<'_>) -> Result<Running, ArmError> {
        let checkpoint = self.checkpoint(ground)?;
        if self.engine == OURS {
            let named = self.binary.as_deref().map(|path| Plumb::find(Some(path))).transpose()?;
            named.as_ref().unwrap_or(ground.plumb).serve(self, ground.home, &checkpoint)
        } else {
            oracle::start(self, ground, &checkpoint)
        }
    }

    /// What is missing before it could be started; asked without starting anything.
    pub fn missing(&self, ground: &Ground<'_>) -> Result<Option<ArmError>, ArmError> {
        let found = self.checkpoint(ground).and_then(|_| match self.engine.as_str() {
            OURS => Ok(()),
            _ => oracle::provisioned(self, ground).map(drop),
        });
        match found {
            Ok(()) => Ok(None),
            Err(error) if error.is_absence() => Ok(Some(error)),
            Err(error) => Err(error),
        }
    }

    fn checkpoint(&self, ground: &Ground<'_>) -> Result<Checkpoint, ArmError> {
        let found = CheckpointSpec::load(ground.home, &self.checkpoint)
            .and_then(|spec| checkpoint::resident(ground.home, &spec));
        let absent = || ArmError::NoCheckpoint { checkpoint: self.checkpoint.clone() };
        found.map_err(|source| self.failed(source))?.ok_or_else(absent)
    }

    fn failed(&self, source: impl Into<oracles::Error>) -> ArmError {
        let (engine, checkpoint) = (self.engine.clone(), self.checkpoint.clone());
        ArmError::Oracle { engine, checkpoint, source: source.into() }
    }
}

/// A target at an address of this machine.
fn target(address: SocketAddr, dialect: Dialect, model: Option<&str>) -> Target {
    Target {
        address,
        host: address.to_string(),
        dialect,
        model: model.map(str::to_owned),
        extra: serde_json::Map::new(),
    }
}
