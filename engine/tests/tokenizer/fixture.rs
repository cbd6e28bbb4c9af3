//! The fixtures: a synthetic vocabulary, and texts with the ids that llama.cpp gave them.

use std::path::{Path, PathBuf};

use engine::checkpoint::Checkpoint;
use engine::tokenizer::{Tokenizer, TokenizerError};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::gguf_file;

/// One file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixture {
    /// Where the ids come from.
    pub(crate) provenance: String,
    /// The keys of the GGUF file.
    pub(crate) metadata: Map<String, Value>,
    pub(crate) groups: Vec<Group>,
}

/// Cases for one variant of the vocabulary.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// Keys that differ from the fixture's.
    pub(crate) overrides: Map<String, Value>,
    pub(crate) cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) text: String,
    pub(crate) add_special: bool,
    pub(crate) parse_special: bool,
    pub(crate) ids: Vec<u32>,
}

impl Fixture {
    /// Reads `tests/tokenizer/NAME.json`.
    pub(crate) fn read(name: &str) -> Self {
        let path = folder().join(format!("{name}.json"));
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    /// The metadata with some keys replaced.
    pub(crate) fn with(&self, overrides: &Map<String, Value>) -> Vec<(String, Value)> {
        let mut metadata = self.metadata.clone();
        metadata.extend(overrides.clone());
        metadata.into_iter().collect()
    }
}

/// The folder of the fixtures.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tokenizer")
}

/// The tokenizer of a GGUF file with these keys.
pub(crate) fn tokenizer(metadata: &[(String, Value)]) -> Result<Tokenizer, TokenizerError> {
    let file = gguf_file::write(metadata);
    let checkpoint = Checkpoint::open(file.path())?;
    let Checkpoint::Gguf(gguf) = &checkpoint else { unreachable!("the file ends in .gguf") };
    Tokenizer::from_gguf(&gguf.metadata())
}
