//! The oracle, its answers remembered.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use oracles::verbs::{
    Cached, Completion, CompletionRequest, Identity, Message, Oracle, PrefillRequest, ScoredChunk,
    Step, TensorQuestion, Together, VerbError,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Journal;

/// An oracle that is asked only what it has not answered yet, as long as it is the one that answered before.
pub struct JournaledOracle {
    inner: Box<dyn Oracle>,
    journal: Arc<Journal>,
    /// Who answers: an answer of another is not taken for its own.
    who: Value,
}

impl JournaledOracle {
    /// Remembers the answers of `inner`.
    pub fn new(inner: Box<dyn Oracle>, journal: Arc<Journal>) -> Self {
        let Identity { name, binary_sha256, settings, cpu_features, .. } = inner.identity();
        let who = json!([name, binary_sha256, settings, cpu_features]);
        Self { inner, journal, who }
    }

    fn remembered<T: Serialize + DeserializeOwned>(
        &mut self,
        verb: &str,
        request: &impl Serialize,
        ask: impl FnOnce(&mut dyn Oracle) -> Result<T, VerbError>,
    ) -> Result<T, VerbError> {
        let asked = json!({ "oracle": self.who, "verb": verb, "request": request });
        if let Some(answer) = self.journal.answer(&asked) {
            return Ok(answer);
        }
        let started = Instant::now();
        let answer = ask(self.inner.as_mut())?;
        self.journal.keep(asked, &answer, started.elapsed());
        Ok(answer)
    }
}

impl Oracle for JournaledOracle {
    fn identity(&self) -> &Identity {
        self.inner.identity()
    }

    fn tokenize(&mut self, text: &str, add: bool, parse: bool) -> Result<Vec<u32>, VerbError> {
        self.remembered("tokenize", &(text, add, parse), |oracle| oracle.tokenize(text, add, parse))
    }

    fn detokenize(&mut self, ids: &[u32]) -> Result<String, VerbError> {
        self.remembered("detokenize", &ids, |oracle| oracle.detokenize(ids))
    }

    fn render_chat(&mut self, messages: &[Message]) -> Result<String, VerbError> {
        self.remembered("render_chat", &messages, |oracle| oracle.render_chat(messages))
    }

    fn complete(&mut self, request: &CompletionRequest) -> Result<Completion, VerbError> {
        self.remembered("complete", request, |oracle| oracle.complete(request))
    }

    fn prefill(&mut self, request: &PrefillRequest) -> Result<Vec<Step>, VerbError> {
        self.remembered("prefill", request, |oracle| oracle.prefill(request))
    }

    // What depends on what the server has in work or keeps is asked of the server that is there.

    fn complete_together(
        &mut self,
        requests: &[CompletionRequest],
        width: u32,
    ) -> Result<Together, VerbError> {
        self.inner.complete_together(requests, width)
    }

    fn complete_cached(&mut self, request: &CompletionRequest) -> Result<Cached, VerbError> {
        self.inner.complete_cached(request)
    }

    fn tensors(&mut self, question: &TensorQuestion, path: &Path) -> Result<(), VerbError> {
        self.inner.tensors(question, path)
    }

    fn score(&mut self, text: &str, context: usize) -> Result<Vec<ScoredChunk>, VerbError> {
        self.inner.score(text, context)
    }
}
