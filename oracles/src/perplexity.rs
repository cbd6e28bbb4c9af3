//! llama-perplexity: the whole next-token distributions of a text, as llama.cpp's own tool writes them.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::logs;
use crate::process::Group;
use crate::verbs::{ScoredChunk, VerbError};

mod base;

pub use base::{BaseError, BaseFile, BaseRow, Header};

/// The executable, beside llama.cpp's server.
pub(crate) const EXECUTABLE: &str = "llama-perplexity";

const VERB: &str = "score";

/// One run of the tool.
#[derive(Debug, Clone)]
pub(crate) struct Perplexity {
    /// Registry name of the oracle.
    pub(crate) oracle: String,
    /// The installed executable.
    pub(crate) executable: PathBuf,
    /// The GGUF file.
    pub(crate) model: PathBuf,
    /// Its threads.
    pub(crate) threads: u32,
    /// Its whole environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Where its output goes.
    pub(crate) log: PathBuf,
}

impl Perplexity {
    /// The chunks of `text`. `bos` is the token that the tool evaluates in the place of the first of each chunk, where the
    /// vocabulary adds one; the file has the text's own.
    pub(crate) fn score(
        &self,
        text: &str,
        context: usize,
        bos: Option<u32>,
    ) -> Result<Vec<ScoredChunk>, VerbError> {
        let folder = tempfile::tempdir().map_err(|error| self.failed("a folder", error))?;
        let (input, output) = (folder.path().join("text"), folder.path().join("base"));
        std::fs::write(&input, text).map_err(|error| self.failed("its text", error))?;
        self.run(&input, &output, context)?;
        let file = File::open(&output).map_err(|error| self.failed("its file", error))?;
        read(BufReader::new(file), bos).map_err(|error| self.failed("its file", error))
    }

    fn run(&self, input: &Path, output: &Path, context: usize) -> Result<(), VerbError> {
        let (threads, context) = (self.threads.to_string(), context.to_string());
        let mut command = Command::new(&self.executable);
        command.arg("--model").arg(&self.model).arg("--file").arg(input);
        command.arg("--save-all-logits").arg(output);
        for flag in ["--threads", "--threads-batch"] {
            command.args([flag, &threads]);
        }
        // One chunk is one batch, so that nothing of another one is computed with it.
        for flag in ["--ctx-size", "--batch-size", "--ubatch-size"] {
            command.args([flag, &context]);
        }
        command.args(["--no-escape", "--no-warmup", "--offline", "--fit", "off"]);
        command.env_clear().envs(self.environment.iter().map(|(key, value)| (key, value)));
        let log = File::create(&self.log).map_err(|error| self.failed("its log", error))?;
        let copy = log.try_clone().map_err(|error| self.failed("its log", error))?;
        command.stdout(copy).stderr(log);
        let mut group = Group::spawn(&mut command).map_err(|error| self.failed("it", error))?;
        let status = group.wait().map_err(|error| self.failed("it", error))?;
        if status.success() {
            return Ok(());
        }
        Err(VerbError::Died {
            oracle: self.oracle.clone(),
            verb: VERB,
            status: status.to_string(),
            log: self.log.clone(),
            tail: logs::tail(&self.log),
        })
    }

    fn failed(
        &self,
        what: &str,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> VerbError {
        VerbError::Transport {
            oracle: self.oracle.clone(),
            verb: VERB,
            reason: format!("{what} of {EXECUTABLE} ({error})"),
            source: error.into(),
        }
    }
}

/// Every chunk of a base file.
fn read(file: impl std::io::Read, bos: Option<u32>) -> Result<Vec<ScoredChunk>, BaseError> {
    let mut base = BaseFile::open(file)?;
    let mut chunks = Vec::new();
    for mut ids in base.header().chunks.clone() {
        // One a chunk of the header: the loop ends with them.
        let Some(rows) = base.next_chunk()? else { break };
        if let (Some(first), Some(bos)) = (ids.first_mut(), bos) {
            *first = bos;
        }
        let rows = rows.iter().map(|row| row.logprobs().collect()).collect();
        chunks.push(ScoredChunk { ids, rows });
    }
    Ok(chunks)
}
