//! What is asked of a server, and when: pure functions of a seed, so that every arm gets the same bytes at the same times.
//!
//! | module | what it makes |
//! |---|---|
//! | [`counter`] | random numbers addressed by what they are for, not by how many were drawn before |
//! | [`vocabulary`] | the token ids that may be drawn |
//! | [`unique`] | prompts of exact length that share no prefix |
//! | [`shared`] | groups of prompts that share one prefix |
//! | [`conversation`] | turns whose prompts are built from the answers |
//! | [`mixed`] | lengths in bands by weight |
//! | [`text`] | prompts as text, from JSON lines |
//! | [`mooncake`] | recorded traffic |
//! | [`mod@file`] | any of these, as a file declares it |
//! | [`prefix`] | the proof that prompts share no more than they should |
//! | [`digest`] | the name of a list of prompts |
//! | [`arrival`] | when each request is sent in an open loop |

pub mod arrival;
pub mod conversation;
pub mod counter;
pub mod digest;
pub mod file;
pub mod mixed;
pub mod mooncake;
pub mod prefix;
pub mod shared;
pub mod text;
pub mod unique;
pub mod vocabulary;

use serde::{Deserialize, Serialize};

/// One thing to ask: a prompt of token ids and how many tokens are wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The prompt.
    pub ids: Vec<u32>,
    /// Tokens of the answer.
    pub output_tokens: u32,
}

/// A workload that cannot be made as asked.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// Nothing is left to draw from.
    #[error("no token id is left of {size} once {excluded} special ids are excluded")]
    Vocabulary {
        /// Ids of the model.
        size: u32,
        /// Ids that must not be drawn.
        excluded: usize,
    },
    /// Two prompts begin alike.
    #[error(
        "prompts {first} and {second} share {tokens} tokens at their start, expected at most {limit} and neither the whole of the other"
    )]
    Prefix {
        /// Place of the one.
        first: usize,
        /// Place of the other.
        second: usize,
        /// What they share.
        tokens: usize,
        /// What they may share.
        limit: usize,
    },
    /// A number outside its range.
    #[error("{what} is {found}, expected {expected}")]
    Range {
        /// What it is.
        what: &'static str,
        /// Its value.
        found: String,
        /// What would do.
        expected: &'static str,
    },
    /// A file that cannot be read.
    #[error("{path}")]
    Read {
        /// Which.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file that declares no workload.
    #[error("{path}: {message}")]
    Form {
        /// Which.
        path: String,
        /// What is wrong and where.
        message: String,
    },
    /// A line that is not as it has to be.
    #[error("{path}:{line}: {reason}")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

impl WorkloadError {
    fn range(what: &'static str, found: &dyn ToString, expected: &'static str) -> Self {
        Self::Range { what, found: found.to_string(), expected }
    }
}

/// A finite number above 0.
fn positive(what: &'static str, found: f64) -> Result<f64, WorkloadError> {
    if found.is_finite() && found > 0.0 {
        Ok(found)
    } else {
        Err(WorkloadError::range(what, &found, "a finite number above 0"))
    }
}
