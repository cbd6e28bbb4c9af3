//! An oracle that is asked about itself, without a process.

use std::path::PathBuf;

use gates::supplies::{Supplies, Way};
use oracles::checkpoint::Checkpoint;
use oracles::golden::Golden;
use oracles::launch::Variant;
use oracles::verbs::{
    Cached, Completion, CompletionRequest, Identity, Message, Oracle, Together, VerbError,
};

use crate::support::{CASES, SECOND, Workspace, step};

/// A check that such an oracle can answer in full.
pub(crate) const CHECK: &str =
    "[check.oracle-consistency]\nrepeats = 2\nbatch = 3\nprefill-positions = 4\n";

/// The oracle of [`CASES`], which may take the runner-up at one token of one case where its prompt is cached.
struct Fickle {
    identity: Identity,
    is_fickle: bool,
}

fn completion(request: &CompletionRequest) -> Completion {
    let (_, prompt, ids) =
        CASES.iter().find(|(_, prompt, _)| request.prompt_ids.starts_with(prompt)).unwrap();
    let done = request.prompt_ids.len() - prompt.len();
    let ids: Vec<u32> = ids[done..].iter().copied().take(request.max_tokens as usize).collect();
    Completion {
        steps: ids.iter().map(|id| step(*id)).collect(),
        ids,
        text: String::new(),
        finish_reason: oracles::verbs::FinishReason::Length,
    }
}

impl Oracle for Fickle {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn tokenize(&mut self, text: &str, _: bool, _: bool) -> Result<Vec<u32>, VerbError> {
        Ok(CASES.iter().find(|(id, ..)| *id == text).unwrap().1.to_vec())
    }

    fn detokenize(&mut self, _: &[u32]) -> Result<String, VerbError> {
        Ok(String::new())
    }

    fn render_chat(&mut self, _: &[Message]) -> Result<String, VerbError> {
        Ok(String::new())
    }

    fn complete(&mut self, request: &CompletionRequest) -> Result<Completion, VerbError> {
        Ok(completion(request))
    }

    fn complete_together(
        &mut self,
        requests: &[CompletionRequest],
        width: u32,
    ) -> Result<Together, VerbError> {
        Ok(Together { completions: requests.iter().map(completion).collect(), at_once: width })
    }

    fn complete_cached(&mut self, request: &CompletionRequest) -> Result<Cached, VerbError> {
        let mut completion = completion(request);
        if self.is_fickle && request.prompt_ids == CASES[1].1 {
            completion.ids[2] = SECOND;
            completion.steps[2].id = SECOND;
        }
        Ok(Cached { completion, cached_tokens: 1 })
    }
}

/// Supplies of it.
pub(crate) struct FickleSupplies<'a> {
    pub(crate) workspace: &'a Workspace,
    /// Whether it contradicts itself.
    pub(crate) is_fickle: bool,
    /// Whether it can be executed otherwise.
    pub(crate) has_variants: bool,
}

impl Supplies for FickleSupplies<'_> {
    fn checkpoint(&self, _: &str) -> oracles::Result<Checkpoint> {
        Ok(self.workspace.checkpoint())
    }

    fn oracle(&self, _: &Checkpoint, _: bool) -> oracles::Result<Option<Box<dyn Oracle>>> {
        Ok(None)
    }

    fn launched(
        &self,
        _: &Checkpoint,
        way: Way,
        _: bool,
    ) -> oracles::Result<Option<Box<dyn Oracle>>> {
        if way.variant == Variant::OtherExecution && !self.has_variants {
            return Ok(None);
        }
        let identity = self.workspace.identity();
        Ok(Some(Box::new(Fickle { identity, is_fickle: self.is_fickle })))
    }

    fn golden(&self) -> oracles::Result<Option<Golden>> {
        Ok(None)
    }

    fn vocabularies(&self, _: bool) -> oracles::Result<Option<PathBuf>> {
        Ok(None)
    }
}
