//! An oracle's answers kept on disk: `oracles/goldens/ORACLE/GATE/{manifest.json,cases.jsonl}`.
//!
//! A golden can be made in one way only: [`Golden::capture`] asks a live oracle. No function takes
//! answers, so the engine under test cannot write what it is later judged by.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::checkpoint::Checkpoint;
use crate::verbs::{CompletionRequest, FinishReason, Identity, Oracle, Step};
use crate::{Home, Progress, Result};

mod files;
pub mod tensors;

use files::{Folder, Header};
use tensors::TensorGolden;

/// The version of the layout on disk.
pub const SCHEMA_VERSION: u32 = 1;

const CASES: &str = "cases.jsonl";

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
    /// The whole environment that the oracle was started with; `None` in goldens older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<BTreeMap<String, String>>,
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
    /// sha256 of the manifest's bytes, and so of the answers: the manifest names their digests.
    pub sha256: String,
    /// The answers, in the order of the prompts.
    pub cases: Vec<GoldenCase>,
}

/// A golden could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// A file is there and cannot be read.
    #[error("{path}: cannot be read", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// A file is not what it must be.
    #[error("{path}{line}: {message}", path = .path.display(), line = .line.map(|line| format!(" line {line}")).unwrap_or_default())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, from 1, in a file of lines.
        line: Option<usize>,
        /// What is wrong.
        message: String,
    },
    /// The layout is of another version.
    #[error("{path}: expected schema_version {SCHEMA_VERSION}, found {found}", path = .path.display())]
    Version {
        /// The manifest.
        path: PathBuf,
        /// The version there.
        found: u32,
    },
    /// The manifest does not list a file that every golden of its form has.
    #[error("{path}: files lists no {name}", path = .path.display())]
    Unlisted {
        /// The manifest.
        path: PathBuf,
        /// The file.
        name: &'static str,
    },
    /// A file is not the one that was captured.
    #[error("{path}: expected sha256 {expected}, found {found}", path = .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The manifest's digest.
        expected: String,
        /// The digest of what is there, or `nothing`.
        found: String,
    },
    /// There was no question.
    #[error("gate {gate} has no prompts: nothing to capture")]
    Empty {
        /// The gate.
        gate: String,
    },
    /// Two questions have one id.
    #[error("gate {gate}: prompt id {id:?} occurs twice")]
    Twice {
        /// The gate.
        gate: String,
        /// The id.
        id: String,
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
    /// The environment the oracle was started with, where it was started.
    pub environment: Option<&'a BTreeMap<String, String>>,
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
    pub fn read_dir(dir: &Path) -> Result<Option<Self>> {
        Ok(Folder::read(dir)?.map(Self::of).transpose()?)
    }

    fn of(folder: Folder) -> Result<Self, GoldenError> {
        let cases = folder.lines(CASES)?;
        let Folder { manifest, sha256, .. } = folder;
        Ok(Self { manifest, sha256, cases })
    }

    /// Asks `oracle` every question and keeps its answers in the workspace. Nothing is written
    /// unless all were answered.
    pub fn capture(
        home: &Home,
        oracle: &mut dyn Oracle,
        capture: &Capture<'_>,
        progress: Progress,
    ) -> Result<Self> {
        files::check_ids(capture.gate, capture.prompts.iter().map(|prompt| &prompt.id))?;
        let total = capture.prompts.len() as u64;
        let mut stage = progress.steps(&format!("capturing {}", capture.gate), Some(total));
        let mut cases = Vec::new();
        for prompt in capture.prompts {
            cases.push(ask(oracle, prompt)?);
            stage.advance(1);
        }
        let header = Header {
            gate: capture.gate,
            oracle: oracle.identity().clone(),
            checkpoint: capture.checkpoint,
            prompts_sha256: capture.prompts_sha256,
            environment: capture.environment,
            noise: capture.noise.clone(),
        };
        let dir = home.golden_dir(&header.oracle.name, capture.gate);
        let lines = files::lines(&dir.join(CASES), &cases)?;
        let (manifest, sha256) = files::write(&dir, header, &[(CASES, lines)])?;
        Ok(Self { manifest, sha256, cases })
    }
}

/// The manifest of the golden of `oracle` for `gate`, of completions or of tensors, with the sha256 of its bytes. The whole
/// golden is verified and read.
pub fn manifest(home: &Home, oracle: &str, gate: &str) -> Result<Option<(GoldenManifest, String)>> {
    let Some(folder) = Folder::read(&home.golden_dir(oracle, gate))? else { return Ok(None) };
    Ok(Some(if folder.lists(tensors::CASES) {
        let TensorGolden { manifest, sha256, .. } = TensorGolden::of(folder)?;
        (manifest, sha256)
    } else {
        let Golden { manifest, sha256, .. } = Golden::of(folder)?;
        (manifest, sha256)
    }))
}

fn ask(oracle: &mut dyn Oracle, prompt: &GoldenPrompt) -> Result<GoldenCase> {
    let answer = oracle.complete(&CompletionRequest {
        prompt_ids: prompt.prompt_ids.clone(),
        max_tokens: prompt.max_tokens,
        top_logprobs: prompt.top_logprobs,
        ignore_eos: prompt.ignore_eos,
    })?;
    Ok(GoldenCase {
        id: prompt.id.clone(),
        prompt_text: prompt.prompt_text.clone(),
        prompt_ids: prompt.prompt_ids.clone(),
        ids: answer.ids,
        text: answer.text,
        finish_reason: answer.finish_reason,
        steps: answer.steps,
    })
}
