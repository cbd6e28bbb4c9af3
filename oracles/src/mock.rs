//! An oracle that reads its answers from a file: for tests of the harness, never for a verdict.

use std::path::Path;

use crate::Result;
use crate::verbs::{Completion, CompletionRequest, Identity, Message, Oracle, VerbError};

/// The mock.
#[derive(Debug, Clone)]
pub struct MockOracle {
    identity: Identity,
}

impl MockOracle {
    /// Reads the answers from `path`.
    pub fn read(_path: &Path) -> Result<Self> {
        todo!()
    }
}

impl Oracle for MockOracle {
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
