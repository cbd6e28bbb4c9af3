//! An oracle that is a pure function of the prefix, and so agrees with itself by construction.
//!
//! What is planted on its answers must turn an oracle-consistency gate red: a real oracle may contradict itself, and of a gate that
//! is red anyway nothing can be shown.

use std::collections::BTreeMap;

use oracles::launch::Variant;
use oracles::registry::OracleSpec;
use oracles::verbs::{
    Cached, Completion, CompletionRequest, FinishReason, Identity, Message, Oracle, PrefillRequest,
    Step, Together, VerbError,
};

use crate::facts::Pinned;
use crate::fault::{Occasion, OracleAnswer};
use crate::supplies::Way;
use crate::validity;

/// Tokens of its vocabulary; more than any window.
const VOCABULARY: u32 = 64;
/// The most that it takes of a text.
const PROMPT: usize = 16;

/// The stand-in, with a fault on its answers or none.
pub(super) struct StandIn {
    identity: Identity,
    way: Way,
    plant: Option<fn(Occasion, &mut OracleAnswer)>,
    /// How often each prompt was asked alone.
    asked: BTreeMap<Vec<u32>, u32>,
}

impl StandIn {
    /// A stand-in for `oracle`, launched in some way.
    pub(super) fn of(
        oracle: &OracleSpec,
        way: Way,
        plant: Option<fn(Occasion, &mut OracleAnswer)>,
    ) -> Self {
        let identity = Identity {
            settings: validity::in_production(&Pinned::from(oracle)),
            ..pinned_identity(oracle)
        };
        Self { identity, way, plant, asked: BTreeMap::new() }
    }

    fn planted(&self, occasion: Occasion, completion: Completion, count: u32) -> OracleAnswer {
        let mut answer = OracleAnswer { completion, count };
        if let Some(plant) = self.plant {
            plant(occasion, &mut answer);
        }
        answer
    }
}

/// The pinned oracle, which a control is not to complain about.
pub(super) fn pinned_identity(oracle: &OracleSpec) -> Identity {
    let package = &oracle.declared.package;
    Identity {
        name: oracle.name.clone(),
        version: package.version.clone(),
        source_sha256: package.archive_sha256.clone(),
        binary_sha256: package.archive_sha256.clone(),
        build: BTreeMap::new(),
        flags: Vec::new(),
        cpu_features: Vec::new(),
        settings: BTreeMap::new(),
    }
}

/// The next token and the ranking behind a prefix.
fn next(prefix: &[u32], window: u32) -> Step {
    // Fowler-Noll-Vo, 32 bits.
    let hash =
        prefix.iter().fold(0x811c_9dc5_u32, |hash, id| (hash ^ id).wrapping_mul(0x0100_0193));
    let token = |place: u32| (hash.wrapping_add(place)) % VOCABULARY;
    let top: Vec<(u32, f32)> = (0..window.min(VOCABULARY))
        .map(|place| (token(place), -1.0 - place as f32 / 8.0))
        .collect();
    Step { id: token(0), logprob: Some(-1.0), top }
}

fn completion(request: &CompletionRequest) -> Completion {
    let mut prefix = request.prompt_ids.clone();
    let mut steps = Vec::new();
    for _ in 0..request.max_tokens {
        let step = next(&prefix, request.top_logprobs);
        prefix.push(step.id);
        steps.push(step);
    }
    let ids = steps.iter().map(|step| step.id).collect();
    Completion { ids, text: String::new(), finish_reason: FinishReason::Length, steps }
}

impl Oracle for StandIn {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn tokenize(&mut self, text: &str, _: bool, _: bool) -> Result<Vec<u32>, VerbError> {
        let ids = text.bytes().map(u32::from).take(PROMPT);
        Ok(std::iter::once(1).chain(ids).collect())
    }

    fn detokenize(&mut self, _: &[u32]) -> Result<String, VerbError> {
        Ok(String::new())
    }

    fn render_chat(&mut self, messages: &[Message]) -> Result<String, VerbError> {
        Ok(messages.iter().map(|message| message.content.as_str()).collect())
    }

    fn complete(&mut self, request: &CompletionRequest) -> Result<Completion, VerbError> {
        let asked = self.asked.entry(request.prompt_ids.clone()).or_default();
        let repeat = *asked;
        *asked += 1;
        let occasion = match self.way.variant {
            Variant::OtherExecution => Occasion::OtherExecution,
            _ => Occasion::Alone { repeat },
        };
        Ok(self.planted(occasion, completion(request), 0).completion)
    }

    fn complete_together(
        &mut self,
        requests: &[CompletionRequest],
        width: u32,
    ) -> Result<Together, VerbError> {
        let width = width.min(self.way.sequences).min(requests.len() as u32);
        let answers: Vec<OracleAnswer> = requests
            .iter()
            .map(|request| self.planted(Occasion::Together, completion(request), width))
            .collect();
        let at_once = answers.iter().map(|answer| answer.count).max().unwrap_or(0);
        let completions = answers.into_iter().map(|answer| answer.completion).collect();
        Ok(Together { completions, at_once })
    }

    fn complete_cached(&mut self, request: &CompletionRequest) -> Result<Cached, VerbError> {
        let kept = request.prompt_ids.len().saturating_sub(1) as u32;
        let OracleAnswer { completion, count } =
            self.planted(Occasion::Cached, completion(request), kept);
        Ok(Cached { completion, cached_tokens: count })
    }

    fn prefill(&mut self, request: &PrefillRequest) -> Result<Vec<Step>, VerbError> {
        let prefix = |position: &usize| {
            let ids = request.ids.iter().take(*position).copied();
            request.prompt_ids.iter().copied().chain(ids).collect::<Vec<u32>>()
        };
        let steps: Vec<Step> = request
            .positions
            .iter()
            .map(|position| next(&prefix(position), request.top_logprobs))
            .collect();
        let ids = steps.iter().map(|step| step.id).collect();
        let (text, finish_reason) = (String::new(), FinishReason::Length);
        let completion = Completion { ids, text, finish_reason, steps };
        Ok(self.planted(Occasion::Prefilled, completion, 0).completion.steps)
    }
}
