//! One request: from a prompt's ids to the ids of its answer.

use crate::runner::{RunError, Runner, Sequence};
use crate::sampler::{Sampler, Sampling};

/// What to generate.
#[derive(Clone, Debug, Default)]
pub struct Generation {
    /// The prompt.
    pub prompt_ids: Vec<u32>,
    /// The most tokens to generate.
    pub max_tokens: usize,
    /// Whether to go on after an end-of-generation token.
    pub ignore_eos: bool,
    /// Take these ids instead of the sampler's, and stop after the last: teacher forcing.
    pub force_ids: Option<Vec<u32>>,
    /// How many of the most likely tokens to report with each step; none reports no steps.
    pub logprobs: Option<usize>,
    /// How to choose tokens.
    pub sampling: Sampling,
}

/// Why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// It has as many tokens as were asked for.
    Length,
    /// It ended itself, or was told to.
    Stop,
}

/// What was generated.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The ids, an end-of-generation token included.
    pub ids: Vec<u32>,
    /// Why there are no more.
    pub finish_reason: FinishReason,
    /// What the model thought at each step, where that was asked for.
    pub steps: Vec<Step>,
}

/// One token and the model's opinion of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The token that was taken.
    pub id: u32,
    /// Its log probability.
    pub logprob: f32,
    /// The most likely tokens and their log probabilities, most likely first, lower ids first among equals.
    pub top: Vec<(u32, f32)>,
}

impl Generation {
    /// Runs the request on an empty or shared prefix: `prompt_ids` follow what `sequence` has run. `ends` tells
    /// end-of-generation tokens; `on_token` hears of each token and says whether to go on.
    pub fn run(
        self,
        runner: &mut Runner<'_>,
        sequence: &mut Sequence,
        ends: &dyn Fn(u32) -> bool,
        on_token: &mut dyn FnMut(u32) -> bool,
    ) -> Result<Generated, RunError> {
        let (mut generating, mut logits) = Generating::start(self, runner, sequence)?;
        while let Some(id) = generating.take(&logits, ends, on_token) {
            logits = runner.run(sequence, &[id])?;
        }
        Ok(generating.generated)
    }

    /// The most tokens that this request can generate.
    fn tokens(&self) -> usize {
        self.force_ids.as_ref().map_or(self.max_tokens, |forced| forced.len().min(self.max_tokens))
    }
}

/// A request between two tokens.
#[derive(Debug)]
pub struct Generating {
    request: Generation,
    sampler: Sampler,
    generated: Generated,
}

impl Generating {
    /// Runs the prompt; the logits choose the first token. A request for no tokens runs nothing, and its logits are empty.
    pub fn start(
        request: Generation,
        runner: &mut Runner<'_>,
        sequence: &mut Sequence,
    ) -> Result<(Self, Vec<f32>), RunError> {
        runner.check(&request.prompt_ids)?;
        if let Some(forced) = request.force_ids.as_ref().filter(|forced| !forced.is_empty()) {
            runner.check(forced)?;
        }
        sequence.check_room(request.prompt_ids.len().saturating_add(request.tokens()))?;
        let logits = match request.tokens() {
            0 => Vec::new(),
            _ => runner.run(sequence, &request.prompt_ids)?,
        };
        let sampler = Sampler::new(request.sampling);
        let (ids, finish_reason, steps) = (Vec::new(), FinishReason::Length, Vec::new());
        let generated = Generated { ids, finish_reason, steps };
        Ok((Self { request, sampler, generated }, logits))
    }

    /// Takes the next token by its logits. Some id is to be run next, after which this is called again; none ends the
    /// request.
    pub fn take(
        &mut self,
        logits: &[f32],
        ends: &dyn Fn(u32) -> bool,
        on_token: &mut dyn FnMut(u32) -> bool,
    ) -> Option<u32> {
        let Self { request, sampler, generated } = self;
        let (step, tokens) = (generated.ids.len(), request.tokens());
        if step >= tokens {
            return None;
        }
        let forced = request.force_ids.as_ref().and_then(|forced| forced.get(step));
        let id = match forced {
            Some(&id) => id,
            None => sampler.choose(logits, &request.prompt_ids, &generated.ids),
        };
        if let Some(top) = request.logprobs {
            generated.steps.push(Step::new(logits, id, top));
        }
        generated.ids.push(id);
        let last = step + 1 == tokens;
        let ended = ends(id) && !request.ignore_eos && (last || request.force_ids.is_none());
        if ended || !on_token(id) {
            generated.finish_reason = FinishReason::Stop;
            return None;
        }
        (!last).then_some(id)
    }

    /// What was generated.
    pub fn into_generated(self) -> Generated {
        self.generated
    }

    /// Whether the steps were asked for.
    pub fn reports_steps(&self) -> bool {
        self.request.logprobs.is_some()
    }

    /// The ids of the prompt.
    pub fn prompt_ids(&self) -> &[u32] {
        &self.request.prompt_ids
    }
}

impl Step {
    /// The step that took `id`, with the `top` most likely tokens.
    fn new(logits: &[f32], id: u32, top: usize) -> Self {
        let normaliser = log_sum_exp(logits);
        let logprob = |id: u32| (f64::from(logits[id as usize]) - normaliser) as f32;
        let mut ids: Vec<u32> = (0..logits.len() as u32).collect();
        let order =
            |a: &u32, b: &u32| logits[*b as usize].total_cmp(&logits[*a as usize]).then(a.cmp(b));
        if top < ids.len() {
            if top > 0 {
                ids.select_nth_unstable_by(top - 1, order);
            }
            ids.truncate(top);
        }
        ids.sort_unstable_by(order);
        Self {
            id,
            logprob: logprob(id),
            top: ids.into_iter().map(|id| (id, logprob(id))).collect(),
        }
    }
}

/// `ln(sum(e^x))`, with the maximum taken out first.
fn log_sum_exp(logits: &[f32]) -> f64 {
    let highest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    highest + logits.iter().map(|&logit| (f64::from(logit) - highest).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn a_step_ranks_by_probability_then_id() {
        // ln(1/8), ln(4/8), ln(1/8), ln(2/8), all shifted by 3.
        let logits = [1.0_f64, 4.0, 1.0, 2.0].map(|p| ((p / 8.0).ln() + 3.0) as f32);
        let step = Step::new(&logits, 2, 3);
        let ids: Vec<u32> = step.top.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [1, 3, 0]);
        for ((_, logprob), p) in step.top.iter().zip([0.5_f64, 0.25, 0.125]) {
            assert!((f64::from(*logprob) - p.ln()).abs() <= 1e-6);
        }
        assert!((f64::from(step.logprob) - 0.125_f64.ln()).abs() <= 1e-6);
        assert!(Step::new(&logits, 0, 0).top.is_empty());
    }
}
