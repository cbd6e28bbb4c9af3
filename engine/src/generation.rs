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
    /// Tokens before which it may not end: until then what would end it cannot be chosen.
    pub min_tokens: usize,
    /// Whether to go on after an end-of-generation token.
    pub ignore_eos: bool,
    /// Tokens that end this generation too, whatever `ignore_eos` says.
    pub stop_ids: Vec<u32>,
    /// Take these ids instead of the sampler's, and stop after the last: teacher forcing.
    pub force_ids: Option<Vec<u32>>,
    /// How many of the most likely tokens to report with each step; none reports no steps.
    pub logprobs: Option<usize>,
    /// The same for each token of the prompt but the first.
    pub prompt_logprobs: Option<usize>,
    /// Added to the logits of these tokens before one is chosen.
    pub logit_bias: Vec<(u32, f32)>,
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
    /// What it thought of each token of the prompt but the first, where that was asked for.
    pub prompt_steps: Vec<Step>,
}

/// One token and the model's opinion of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The token that was taken.
    pub id: u32,
    /// Its log probability.
    pub logprob: f32,
    /// How many tokens are at least as likely, itself included.
    pub rank: usize,
    /// The most likely tokens and their log probabilities, most likely first, lower ids first among equals.
    pub top: Vec<(u32, f32)>,
}

/// The tokens that end a generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndIds(Vec<u32>);

impl EndIds {
    /// These tokens.
    pub fn new(ids: impl IntoIterator<Item = u32>) -> Self {
        let mut ids: Vec<u32> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self(ids)
    }

    /// Whether a token is one of them.
    pub fn contains(&self, id: u32) -> bool {
        self.0.binary_search(&id).is_ok()
    }

    /// Each of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

impl Generation {
    /// Runs the request alone, on an empty or shared prefix: `prompt_ids` follow what `sequence` has run. `on_token` hears of each
    /// token that does not end it, and says whether to go on.
    pub fn run(
        self,
        runner: &mut Runner<'_>,
        sequence: &mut Sequence,
        ends: &EndIds,
        on_token: &mut dyn FnMut(u32) -> bool,
    ) -> Result<Generated, RunError> {
        self.check(runner)?;
        sequence.check_room(self.prompt_ids.len().saturating_add(self.tokens()))?;
        let mut generating = Generating::new(self);
        if generating.tokens() == 0 {
            return Ok(generating.generated);
        }
        let mut logits = runner.run(sequence, &generating.request.prompt_ids)?;
        loop {
            let Taken { id, ended } = generating.take(&logits, ends);
            let stopped = ended != Some(FinishReason::Stop) && !on_token(id);
            if stopped {
                generating.generated.finish_reason = FinishReason::Stop;
            }
            if stopped || ended.is_some() {
                return Ok(generating.generated);
            }
            logits = runner.run(sequence, &[id])?;
        }
    }

    /// Whether the model can run its ids.
    pub fn check(&self, runner: &Runner<'_>) -> Result<(), RunError> {
        runner.check(&self.prompt_ids)?;
        let forced = self.force_ids.as_ref().filter(|forced| !forced.is_empty());
        forced.map_or(Ok(()), |forced| runner.check(forced))
    }

    /// The most tokens that this request can generate.
    pub fn tokens(&self) -> usize {
        self.force_ids.as_ref().map_or(self.max_tokens, |forced| forced.len().min(self.max_tokens))
    }
}

/// A token that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its id.
    pub id: u32,
    /// Why it is the last; none if it is to be run next.
    pub ended: Option<FinishReason>,
}

/// A request between two tokens.
#[derive(Debug)]
pub struct Generating {
    request: Generation,
    sampler: Sampler,
    generated: Generated,
}

impl Generating {
    /// A request of which nothing has run.
    pub fn new(request: Generation) -> Self {
        let sampler = Sampler::new(request.sampling);
        let generated = Generated {
            ids: Vec::new(),
            finish_reason: FinishReason::Length,
            steps: Vec::new(),
            prompt_steps: Vec::new(),
        };
        Self { request, sampler, generated }
    }

    /// Takes the next token by its logits, of a request that has not ended.
    pub fn take(&mut self, logits: &[f32], ends: &EndIds) -> Taken {
        let step = self.generated.ids.len();
        let forced = self.request.force_ids.as_ref().and_then(|forced| forced.get(step)).copied();
        let id = forced.unwrap_or_else(|| self.choose(logits, ends));
        let Self { request, generated, .. } = self;
        if let Some(top) = request.logprobs {
            generated.steps.push(Step::new(logits, id, top));
        }
        generated.ids.push(id);
        let last = step + 1 >= request.tokens();
        let ends_it = (ends.contains(id) && !request.ignore_eos) || request.stop_ids.contains(&id);
        let ended = if ends_it && (last || request.force_ids.is_none()) {
            Some(FinishReason::Stop)
        } else {
            last.then_some(FinishReason::Length)
        };
        generated.finish_reason = ended.unwrap_or(FinishReason::Length);
        Taken { id, ended }
    }

    /// The sampler's token.
    fn choose(&mut self, logits: &[f32], ends: &EndIds) -> u32 {
        let Self { request, sampler, generated } = self;
        let (prompt, ids) = (&request.prompt_ids, &generated.ids);
        let too_short = ids.len() < request.min_tokens;
        if request.logit_bias.is_empty() && !too_short {
            return sampler.choose(logits, prompt, ids);
        }
        let mut logits = logits.to_vec();
        for &(id, bias) in &request.logit_bias {
            if let Some(logit) = logits.get_mut(id as usize) {
                *logit += bias;
            }
        }
        if too_short {
            let eos = ends.iter().filter(|_| !request.ignore_eos);
            for id in eos.chain(request.stop_ids.iter().copied()) {
                if let Some(logit) = logits.get_mut(id as usize) {
                    *logit = f32::NEG_INFINITY;
                }
            }
        }
        sampler.choose(&logits, prompt, ids)
    }

    /// Hears the logits behind a token of the prompt, at `position`: what the model thought of the next one.
    pub fn see_prompt(&mut self, position: usize, logits: &[f32]) {
        let Some(top) = self.request.prompt_logprobs else { return };
        let Some(&next) = self.request.prompt_ids.get(position + 1) else { return };
        // A prompt that is computed again is told again, with the same bits.
        self.generated.prompt_steps.truncate(position);
        self.generated.prompt_steps.push(Step::new(logits, next, top));
    }

    /// What was asked.
    pub fn request(&self) -> &Generation {
        &self.request
    }

    /// What was generated so far.
    pub fn generated(&self) -> &Generated {
        &self.generated
    }

    /// What was generated.
    pub fn into_generated(self) -> Generated {
        self.generated
    }

    /// The most tokens that this request can generate.
    fn tokens(&self) -> usize {
        self.request.tokens()
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
        let own = logits[id as usize];
        let rank = logits.iter().filter(|&&logit| logit >= own).count();
        Self {
            id,
            logprob: logprob(id),
            rank,
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
        assert_eq!((step.rank, Step::new(&logits, 1, 0).rank), (4, 1));
        assert!((f64::from(step.logprob) - 0.125_f64.ln()).abs() <= 1e-6);
        assert!(Step::new(&logits, 0, 0).top.is_empty());
    }
}
