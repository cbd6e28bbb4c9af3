//! An oracle that says of a text what the engine itself says of it, and so agrees by construction.
//!
//! Whole distributions have no golden, and a proof needs no oracle: what is planted on the engine's dump must turn the gate red
//! where nothing else could.

use oracles::verbs::{
    Completion, CompletionRequest, Identity, Message, Oracle, ScoredChunk, VerbError, not_offered,
};

use super::stand_in::pinned_identity;
use crate::bench::Bench;
use crate::collect;
use crate::kind::logits::log_softmax;
use crate::subject::{Subject, TokenizeInput, TokenizeRequest, Transport};

/// The mirror, with what it says.
#[derive(Debug, Clone)]
pub(super) struct Mirror {
    identity: Identity,
    chunks: Vec<ScoredChunk>,
}

impl Mirror {
    /// The same, with a fault on what it says.
    pub(super) fn planted(&self, plant: fn(&mut [ScoredChunk])) -> Self {
        let mut planted = self.clone();
        plant(&mut planted.chunks);
        planted
    }
}

impl Mirror {
    /// What the engine says of the gate's text through `transport`; `None` where the gate compares no distributions or the
    /// engine does not answer, which its control then shows.
    pub(super) fn of(bench: &Bench<'_>, transport: &dyn Transport) -> Option<Self> {
        let context = bench.gate.spec.check.logits.as_ref()?.context.0 as usize;
        let subject = Subject { transport, ..bench.subject };
        let model = bench.supplies.checkpoint(bench.gate.spec.checkpoint.as_deref()?).ok()?.path;
        let (text, id) = (collect::text(bench.workload?), "text".to_owned());
        let input = TokenizeInput::Text { text, add_special: true, parse_special: false };
        let mut read = subject.tokenize(&model, &[TokenizeRequest { id, input }]).ok()?;
        let ids = read.remove("text")?.ok()?.ids?;
        let chunk = |ids: &[u32]| {
            let mut values = subject.dump(&model, ids, &["logits"]).ok()?.ok()?;
            let logits = values.remove("logits")?;
            let scored = ids.len() / 2..ids.len() - 1;
            let rows = scored.map(|at| log_softmax(logits.row(at))).collect();
            Some(ScoredChunk { ids: ids.to_vec(), rows })
        };
        let chunks = ids.chunks_exact(context).map(chunk).collect::<Option<_>>()?;
        Some(Self { identity: pinned_identity(bench.oracle?), chunks })
    }
}

impl Oracle for Mirror {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn tokenize(&mut self, _: &str, _: bool, _: bool) -> Result<Vec<u32>, VerbError> {
        Err(not_offered(self, "tokenize"))
    }

    fn detokenize(&mut self, _: &[u32]) -> Result<String, VerbError> {
        Err(not_offered(self, "detokenize"))
    }

    fn render_chat(&mut self, _: &[Message]) -> Result<String, VerbError> {
        Err(not_offered(self, "render_chat"))
    }

    fn complete(&mut self, _: &CompletionRequest) -> Result<Completion, VerbError> {
        Err(not_offered(self, "complete"))
    }

    fn score(&mut self, _: &str, _: usize) -> Result<Vec<ScoredChunk>, VerbError> {
        Ok(self.chunks.clone())
    }
}
