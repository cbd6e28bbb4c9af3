//! An oracle's answers kept on disk: `oracles/goldens/ORACLE/GATE/{manifest.json,cases.jsonl}`.
//!
//! A golden can be made in one way only: [`Golden::capture`] asks a live oracle. No function takes
//! answers, so the engine under test cannot write what it is later judged by.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::checkpoint::Checkpoint;
use crate::verbs::{FinishReason, Identity, Oracle, Step};
use crate::{Home, Progress, Result};

/// The version of the layout on disk.
pub const SCHEMA_VERSION: u32 = 1;

/// What the golden is, who gave it and what its files must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoldenManifest {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The gate.
    pub gate: String,
    /// Who answered.
    pub oracle: Identity,
    /// On which checkpoint.
    pub checkpoint: GoldenCheckpoint,
    /// When, in UTC, RFC 3339.
    pub captured_at: String,
    /// sha256 of the gate's prompts.
    pub prompts_sha256: String,
    /// How far the oracle is from itself; `None` when it was not measured.
    pub noise: Option<Noise>,
    /// The other files of the folder.
    pub files: Vec<GoldenFile>,
}

/// The checkpoint that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoldenCheckpoint {
    /// Its name.
    pub name: String,
    /// Its digest.
    pub sha256: String,
}

/// A file of the golden.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoldenFile {
    /// Path inside the folder.
    pub path: String,
    /// sha256 of its bytes.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

/// The oracle compared with itself under a change that must not matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// What was changed between the runs.
    pub method: String,
    /// How many runs were compared.
    pub runs: u32,
    /// How many steps were compared.
    pub steps: u64,
    /// At how many of them the chosen id differed.
    pub ids_differ: u64,
    /// The largest difference of a log-probability over equal prefixes, in milli-nats.
    pub logprob_difference_max_mnats: f64,
}

/// A question of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoldenPrompt {
    /// The case's id.
    pub id: String,
    /// The prompt's text, rendered.
    pub prompt_text: String,
    /// Its ids, as given to the oracle.
    pub prompt_ids: Vec<u32>,
    /// How many tokens to generate at most.
    pub max_tokens: u32,
    /// How many alternatives to keep at each step.
    pub top_logprobs: u32,
    /// Go on after an end-of-generation token.
    pub ignore_eos: bool,
}

/// A question with the oracle's answer: one line of `cases.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoldenCase {
    /// The case's id.
    pub id: String,
    /// The prompt's text, rendered.
    pub prompt_text: String,
    /// Its ids.
    pub prompt_ids: Vec<u32>,
    /// The generated ids.
    pub ids: Vec<u32>,
    /// Their text.
    pub text: String,
    /// Why the oracle ended.
    pub finish_reason: FinishReason,
    /// One entry per id, when alternatives were kept.
    pub steps: Vec<Step>,
}

/// A golden whose files were verified.
#[derive(Debug, Clone, PartialEq)]
pub struct Golden {
    /// Who, what and when.
    pub manifest: GoldenManifest,
    /// The answers, in the order of the prompts.
    pub cases: Vec<GoldenCase>,
}

/// A golden could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// A file or folder cannot be read or written.
    #[error("cannot {action} {path}", path = .path.display())]
    Io {
        /// `read`, `write` ...
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// What a golden is captured for.
#[derive(Debug, Clone)]
pub struct Capture<'a> {
    /// The gate.
    pub gate: &'a str,
    /// The checkpoint the oracle was launched on.
    pub checkpoint: &'a Checkpoint,
    /// sha256 of the gate's prompts.
    pub prompts_sha256: &'a str,
    /// The questions.
    pub prompts: &'a [GoldenPrompt],
    /// How far the oracle is from itself, when measured.
    pub noise: Option<Noise>,
}

impl Golden {
    /// Reads the golden of `oracle` for `gate`, and verifies every file's hash.
    pub fn read(home: &Home, oracle: &str, gate: &str) -> Result<Option<Self>> {
        Self::read_dir(&home.golden_dir(oracle, gate))
    }

    /// Reads the golden in `dir`; `None` when there is no manifest.
    pub fn read_dir(_dir: &Path) -> Result<Option<Self>> {
        todo!()
    }

    /// Asks `oracle` every question and keeps its answers. Nothing is written unless all were
    /// answered.
    pub fn capture(
        _home: &Home,
        _oracle: &mut dyn Oracle,
        _capture: &Capture<'_>,
        _progress: Progress,
    ) -> Result<Self> {
        todo!()
    }
}
