//! Why a verb failed, and with which exit status.

use std::io;
use std::path::PathBuf;

use crate::chat_template::ChatTemplateError;
use crate::checkpoint;
use crate::engine::SubmitError;
use crate::inspect::InspectError;
use crate::kv::BudgetError;
use crate::model::ModelError;
use crate::numerics::ProfileError;
use crate::runner::RunError;
use crate::serve::ServeError;
use crate::tokenizer::TokenizerError;

/// The exit status for wrong usage and bad input.
const BAD_INPUT: u8 = 2;
/// The exit status for any other failure.
const FAILURE: u8 = 1;

/// A verb that failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The checkpoint cannot be read.
    #[error(transparent)]
    Checkpoint(#[from] checkpoint::Error),
    /// The checkpoint cannot be run.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// There is no such profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The tokenizer is at fault, or was given what it does not know.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// The model has no tokenizer.
    #[error("{}: there is no tokenizer; give token ids", path.display())]
    NoTokenizer {
        /// The checkpoint.
        path: PathBuf,
    },
    /// The model has no chat template.
    #[error("{}: there is no chat template; give a prompt", path.display())]
    NoTemplate {
        /// The checkpoint.
        path: PathBuf,
    },
    /// The chat template is at fault, or refuses the conversation.
    #[error(transparent)]
    Template(#[from] ChatTemplateError),
    /// Ctrl-C cannot be caught.
    #[error("cannot catch Ctrl-C")]
    Interrupt(#[source] io::Error),
    /// The server cannot start.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The key-value cache cannot hold a sequence.
    #[error(transparent)]
    Cache(#[from] BudgetError),
    /// The engine takes no more requests, or cannot run one.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// Tokens cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A report on a checkpoint failed.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// The kernels refuse.
    #[error("the kernels cannot run here")]
    Kernels(#[source] kernels::Error),
    /// An argument has a value that makes no sense.
    #[error("{name}: {fault}")]
    Argument {
        /// The argument.
        name: &'static str,
        /// What is wrong with it.
        fault: String,
    },
    /// Some requests were answered with an error.
    #[error("{failed} of {total} requests failed; their answers say why")]
    Requests {
        /// How many.
        failed: usize,
        /// Of how many.
        total: usize,
    },
    /// Whoever asked has gone away before all answers were written.
    #[error("nobody reads the answers any more: {written} were written")]
    Unread {
        /// How many answers were written.
        written: usize,
    },
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, or the system's answer.
        #[source]
        source: io::Error,
    },
    /// A tensor of a file is not what it must be.
    #[error("{}: tensor {name:?} {fault}", path.display())]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// stdin or stdout failed.
    #[error("cannot {action}")]
    Stream {
        /// What was attempted.
        action: &'static str,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
}

impl CliError {
    /// A request could not be read.
    pub(super) fn input(source: io::Error) -> Self {
        Self::Stream { action: "read a request", source }
    }

    /// The answer could not be written.
    pub(super) fn output(source: io::Error) -> Self {
        Self::Stream { action: "write the answer", source }
    }

    /// The exit status: 2 for wrong usage and bad input, 1 for the rest.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Kernels(_)
            | Self::Interrupt(_)
            | Self::Serve(_)
            | Self::Write { .. }
            | Self::Unread { .. }
            | Self::Stream { .. }
            | Self::Inspect(InspectError::Output(_) | InspectError::Json(_)) => FAILURE,
            _ => BAD_INPUT,
        }
    }

    /// Whether the reader of stdout has gone away, which is no failure.
    pub fn is_broken_pipe(&self) -> bool {
        let (Self::Stream { source, .. } | Self::Inspect(InspectError::Output(source))) = self
        else {
            return false;
        };
        source.kind() == io::ErrorKind::BrokenPipe
    }
}
