//! `gate capture NAME`: a golden from the live oracle, once it has shown that it answers the same every time, and how far
//! it is from itself when the same prefix is evaluated in another batch.

pub mod inside;

use std::collections::BTreeMap;

use oracles::checkpoint::Checkpoint;
use oracles::golden::{Capture, Golden, GoldenPrompt, Noise};
use oracles::registry::OracleSpec;
use oracles::verbs::{
    Completion, CompletionRequest, FinishReason, Identity, Message, Oracle, VerbError,
};
use oracles::{Home, Progress};

use crate::collect::{prompt, request, text_prompt};
use crate::compare;
use crate::interrupt::{self, Interrupted};
use crate::kind::ranks::shared_differences;
use crate::samples::top_of;
use crate::spec::{GenerateSpec, NamedSpec};
use crate::workload::Workload;

/// Why there is no golden.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The gate takes its expectations from elsewhere.
    #[error("gate {0} has no inputs to capture: its expectations come with the oracle's source")]
    NoInputs(String),
    /// The gate judges the engine alone.
    #[error("gate {0} names no oracle: there is nothing to capture from")]
    NoOracle(String),
    /// The gate compares its oracle with itself.
    #[error("gate {0} compares its oracle with itself, live: there is nothing to capture")]
    Itself(String),
    /// The oracle, the checkpoint or the disk failed.
    #[error(transparent)]
    Oracle(#[from] oracles::Error),
    /// Ctrl-C.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl From<VerbError> for CaptureError {
    fn from(error: VerbError) -> Self {
        Self::Oracle(error.into())
    }
}

/// What was captured.
#[derive(Debug, Clone)]
pub struct Captured {
    /// The golden as it lies on disk.
    pub golden: Golden,
    /// How often each case was answered.
    pub repeats: u32,
}

/// What a golden is captured for.
pub struct Target<'a> {
    /// The gate.
    pub gate: &'a NamedSpec,
    /// Its inputs.
    pub workload: Option<&'a Workload>,
    /// The checkpoint that the oracle was launched on.
    pub checkpoint: &'a Checkpoint,
    /// The oracle as it is registered, and so as it was launched.
    pub oracle: &'a OracleSpec,
    /// Where goldens are kept.
    pub home: &'a Home,
    /// Where progress is shown.
    pub progress: Progress,
}

/// Captures the golden of a gate from a running oracle.
pub fn capture(target: &Target<'_>, oracle: &mut dyn Oracle) -> Result<Captured, CaptureError> {
    let Some(workload) = target.workload else {
        return Err(CaptureError::NoInputs(target.gate.name.clone()));
    };
    let spec = &target.gate.spec;
    let generate = spec.generate.as_ref();
    let repeats = spec.capture.repeats.0;
    let prompts = prompts(workload, generate, repeats, oracle)?;
    let mut witness = Witness { oracle, seen: BTreeMap::new() };
    let noise = match generate {
        Some(generate) => {
            rehearse(&mut witness, &prompts, repeats, target.progress)?;
            let positions = spec.capture.noise_positions;
            measure_noise(&mut witness, &prompts, generate, positions, target.progress)?
        }
        None => None,
    };
    let capture = Capture {
        gate: &target.gate.name,
        checkpoint: target.checkpoint,
        prompts_sha256: &workload.sha256,
        environment: target.oracle.declared.launch.as_ref().map(|launch| &launch.environment),
        prompts: &prompts,
        noise,
    };
    let golden = Golden::capture(target.home, &mut witness, &capture, target.progress)?;
    Ok(Captured { golden, repeats })
}

/// Every case as the oracle renders and tokenises it, the same each time it is asked.
fn prompts(
    workload: &Workload,
    generate: Option<&GenerateSpec>,
    repeats: u32,
    oracle: &mut dyn Oracle,
) -> Result<Vec<GoldenPrompt>, CaptureError> {
    let mut prompts = Vec::with_capacity(workload.cases.len());
    for case in &workload.cases {
        let mut ask = || match generate {
            Some(_) => prompt(oracle, case),
            None => text_prompt(oracle, case),
        };
        let first = ask()?;
        for _ in 1..repeats {
            if ask()? != first {
                return Err(fickle(oracle, "tokenize").into());
            }
        }
        let (prompt_text, prompt_ids) = first;
        prompts.push(GoldenPrompt {
            id: case.id.clone(),
            prompt_text,
            prompt_ids,
            max_tokens: generate.map_or(0, |generate| generate.max_tokens.0),
            top_logprobs: generate.map_or(0, |generate| generate.top_logprobs.0 as u32),
            ignore_eos: false,
        });
    }
    Ok(prompts)
}

/// The oracle gave another answer to the same question: there is nothing to be equal to.
fn fickle(oracle: &dyn Oracle, verb: &'static str) -> VerbError {
    VerbError::Malformed {
        oracle: oracle.identity().name.clone(),
        verb,
        key: "answer".to_owned(),
        expected: "the one it gave to the same question before, as a golden needs".to_owned(),
        found: "another one".to_owned(),
    }
}

/// All passes but the last, which the capture itself makes.
fn rehearse(
    witness: &mut Witness<'_>,
    prompts: &[GoldenPrompt],
    repeats: u32,
    progress: Progress,
) -> Result<(), CaptureError> {
    // The noise is measured against answers, so at least one pass comes first.
    let passes = repeats.saturating_sub(1).max(1);
    let total = u64::from(passes) * prompts.len() as u64;
    let mut stage = progress.steps("determinism", Some(total));
    for _ in 0..passes {
        for prompt in prompts {
            interrupt::check()?;
            witness.complete(&completion_request(prompt))?;
            stage.advance(1);
        }
    }
    Ok(())
}

fn completion_request(prompt: &GoldenPrompt) -> CompletionRequest {
    CompletionRequest {
        prompt_ids: prompt.prompt_ids.clone(),
        max_tokens: prompt.max_tokens,
        top_logprobs: prompt.top_logprobs,
        ignore_eos: prompt.ignore_eos,
    }
}

/// Evaluates shared prefixes again, each as one prompt, and compares with the step-by-step answers.
fn measure_noise(
    witness: &mut Witness<'_>,
    prompts: &[GoldenPrompt],
    generate: &GenerateSpec,
    positions: usize,
    progress: Progress,
) -> Result<Option<Noise>, CaptureError> {
    let mut stage = progress.steps("noise", Some((prompts.len() * positions) as u64));
    let (mut steps, mut ids_differ, mut largest) = (0, 0, None);
    for prompt in prompts {
        let decoded = witness.complete_again(&completion_request(prompt))?;
        for position in spread(decoded.ids.len(), positions) {
            interrupt::check()?;
            let mut prefix = prompt.prompt_ids.clone();
            prefix.extend(&decoded.ids[..position]);
            let again = witness.oracle.complete(&request(prefix, 1, generate))?;
            let (Some(before), Some(after)) = (decoded.steps.get(position), again.steps.first())
            else {
                continue;
            };
            let differences = shared_differences(&top_of(before), &top_of(after));
            if differences.is_empty() {
                continue;
            }
            largest = compare::largest(
                Option::into_iter(largest).chain(differences.into_iter().map(|entry| entry.1)),
            );
            steps += 1;
            ids_differ += u64::from(before.id != after.id);
            stage.advance(1);
        }
    }
    Ok(largest.map(|logprob_difference_max_mnats| Noise {
        method: "the shared prefix evaluated again as one prompt, instead of token by token"
            .to_owned(),
        runs: 2,
        steps,
        ids_differ,
        logprob_difference_max_mnats,
    }))
}

/// `count` positions spread over `1..length`, the last one included: at 0 both evaluations are the same prompt.
pub(crate) fn spread(length: usize, count: usize) -> impl Iterator<Item = usize> {
    let last = length.saturating_sub(1);
    (1..=count.min(last)).map(move |step| step * last / count.min(last).max(1))
}

/// An oracle that must repeat itself: the same question, another answer is an error.
struct Witness<'a> {
    oracle: &'a mut dyn Oracle,
    seen: BTreeMap<Vec<u32>, Completion>,
}

impl Witness<'_> {
    /// The answer that was seen, without asking again.
    fn complete_again(&mut self, request: &CompletionRequest) -> Result<Completion, VerbError> {
        match self.seen.get(&request.prompt_ids) {
            Some(seen) => Ok(seen.clone()),
            None => self.complete(request),
        }
    }
}

impl Oracle for Witness<'_> {
    fn identity(&self) -> &Identity {
        self.oracle.identity()
    }

    fn tokenize(&mut self, text: &str, add: bool, parse: bool) -> Result<Vec<u32>, VerbError> {
        self.oracle.tokenize(text, add, parse)
    }

    fn detokenize(&mut self, ids: &[u32]) -> Result<String, VerbError> {
        self.oracle.detokenize(ids)
    }

    fn render_chat(&mut self, messages: &[Message]) -> Result<String, VerbError> {
        self.oracle.render_chat(messages)
    }

    fn complete(&mut self, request: &CompletionRequest) -> Result<Completion, VerbError> {
        if request.max_tokens == 0 {
            // A tokenizer gate keeps prompts alone: nothing is generated.
            let finish_reason = FinishReason::Length;
            return Ok(Completion {
                ids: Vec::new(),
                text: String::new(),
                finish_reason,
                steps: Vec::new(),
            });
        }
        let completion = self.oracle.complete(request)?;
        let seen =
            self.seen.entry(request.prompt_ids.clone()).or_insert_with(|| completion.clone());
        if *seen == completion {
            return Ok(completion);
        }
        Err(fickle(self.oracle, "complete"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_spread_and_never_the_first() {
        assert_eq!(spread(64, 4).collect::<Vec<_>>(), [15, 31, 47, 63]);
        assert_eq!(spread(3, 4).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(spread(1, 4).count(), 0);
        assert_eq!(spread(0, 4).count(), 0);
        assert_eq!(spread(64, 0).count(), 0);
    }
}
