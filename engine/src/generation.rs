//! One request: from a prompt's ids to the ids of its answer.

use crate::runner::{RunError, Runner};
use crate::sampler::{Sampler, Sampling};

/// What to generate.
#[derive(Clone, Debug)]
pub struct Generation<'a> {
    /// The prompt.
    pub prompt_ids: &'a [u32],
    /// The most tokens to generate.
    pub max_tokens: usize,
    /// Whether to go on after an end-of-generation token.
    pub ignore_eos: bool,
    /// Take these ids instead of the sampler's, and stop after the last: teacher forcing.
    pub force_ids: Option<&'a [u32]>,
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

impl Generation<'_> {
    /// Runs the request on an empty or shared prefix: `prompt_ids` follow what `runner` has run. `ends` tells
    /// end-of-generation tokens; `on_token` hears of each token and says whether to go on.
    pub fn run(
        &self,
        runner: &mut Runner<'_>,
        ends: &dyn Fn(u32) -> bool,
        on_token: &mut dyn FnMut(u32) -> bool,
    ) -> Result<Generated, RunError> {
        let forced = self.force_ids.unwrap_or_default();
        runner.check(self.prompt_ids)?;
        runner.check_room(self.prompt_ids.len() + self.tokens())?;
        let mut generated =
            Generated { ids: Vec::new(), finish_reason: FinishReason::Length, steps: Vec::new() };
        if self.tokens() == 0 {
            return Ok(generated);
        }
        let mut sampler = Sampler::new(self.sampling);
        let mut logits = runner.run(self.prompt_ids)?;
        for step in 0..self.tokens() {
            let id = match forced.get(step) {
                Some(&id) => id,
                None => sampler.choose(&logits, self.prompt_ids, &generated.ids),
            };
            if let Some(top) = self.logprobs {
                generated.steps.push(Step::new(&logits, id, top));
            }
            generated.ids.push(id);
            let ended = ends(id) && !self.ignore_eos;
            let last = step + 1 == self.tokens();
            if ended && (last || self.force_ids.is_none()) || !on_token(id) {
                generated.finish_reason = FinishReason::Stop;
                break;
            }
            if !last {
                logits = runner.run(&[id])?;
            }
        }
        Ok(generated)
    }

    /// The most tokens that this request can generate.
    fn tokens(&self) -> usize {
        self.force_ids.map_or(self.max_tokens, |forced| forced.len().min(self.max_tokens))
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
