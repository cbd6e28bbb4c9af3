//! Choosing the next token from its logits.
//!
//! Greedy is the first maximum: the lowest id among equals. Otherwise, in this order: penalties, temperature,
//! min-p, top-k, top-p, and one draw that depends on the seed and the number of the draw alone.

use serde::Deserialize;

/// How to choose. The default is greedy.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sampling {
    /// What logits are divided by; 0 is greedy.
    pub temperature: f32,
    /// Only the `top_k` most likely tokens; 0 is all.
    pub top_k: usize,
    /// Only the most likely tokens that together reach this probability; 1 is all.
    pub top_p: f32,
    /// Only tokens at least this likely compared to the most likely one; 0 is all.
    pub min_p: f32,
    /// The seed of the draws.
    pub seed: u64,
    /// Positive logits of tokens seen are divided by it, negative ones multiplied (Keskar et al. 2019).
    pub repetition_penalty: f32,
    /// Taken off the logit of every token that was generated.
    pub presence_penalty: f32,
    /// Taken off the logit of a token once for each time it was generated.
    pub frequency_penalty: f32,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            seed: 0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
        }
    }
}

impl Sampling {
    /// What is wrong with the settings, if anything is.
    pub fn fault(&self) -> Option<&'static str> {
        let finite_at_least = |value: f32, least: f32| value.is_finite() && value >= least;
        let rules = [
            ("temperature must be at least 0", finite_at_least(self.temperature, 0.0)),
            ("top_p must be above 0 and at most 1", self.top_p > 0.0 && self.top_p <= 1.0),
            ("min_p must be within 0 and 1", (0.0..=1.0).contains(&self.min_p)),
            (
                "repetition_penalty must be above 0",
                self.repetition_penalty > 0.0 && self.repetition_penalty.is_finite(),
            ),
            ("presence_penalty must be finite", self.presence_penalty.is_finite()),
            ("frequency_penalty must be finite", self.frequency_penalty.is_finite()),
        ];
        rules.into_iter().find(|(_, holds)| !holds).map(|(fault, _)| fault)
    }

    fn penalises(&self) -> bool {
        let neutral = Self::default();
        [
            (self.repetition_penalty, neutral.repetition_penalty),
            (self.presence_penalty, neutral.presence_penalty),
            (self.frequency_penalty, neutral.frequency_penalty),
        ]
        .iter()
        .any(|(value, neutral)| value.to_bits() != neutral.to_bits())
    }
}

/// Chooses token after token.
#[derive(Clone, Debug)]
pub struct Sampler {
    settings: Sampling,
    draws: u64,
}

impl Sampler {
    /// A sampler at its first draw.
    pub fn new(settings: Sampling) -> Self {
        Self { settings, draws: 0 }
    }

    /// The next token. `prompt` and `generated` are what the penalties look at.
    pub fn choose(&mut self, logits: &[f32], prompt: &[u32], generated: &[u32]) -> u32 {
        let penalised = self.settings.penalises().then(|| self.penalise(logits, prompt, generated));
        let logits = penalised.as_deref().unwrap_or(logits);
        if self.settings.temperature <= 0.0 {
            return first_maximum(logits);
        }
        let candidates = self.candidates(logits);
        let uniform = uniform(self.settings.seed, self.draws);
        self.draws += 1;
        draw(&candidates, uniform)
    }

    fn penalise(&self, logits: &[f32], prompt: &[u32], generated: &[u32]) -> Vec<f32> {
        let mut logits = logits.to_vec();
        let mut seen = vec![false; logits.len()];
        for &id in prompt.iter().chain(generated) {
            seen[id as usize] = true;
        }
        for (logit, _) in logits.iter_mut().zip(seen).filter(|(_, seen)| *seen) {
            let penalty = self.settings.repetition_penalty;
            *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
        }
        let mut counted = vec![false; logits.len()];
        for &id in generated {
            logits[id as usize] -= self.settings.frequency_penalty;
            if !std::mem::replace(&mut counted[id as usize], true) {
                logits[id as usize] -= self.settings.presence_penalty;
            }
        }
        logits
    }

    /// Tokens that may be drawn with their unnormalised probabilities, most likely first.
    fn candidates(&self, logits: &[f32]) -> Vec<(u32, f64)> {
        let highest = f64::from(logits[first_maximum(logits) as usize]);
        let temperature = f64::from(self.settings.temperature);
        let floor = f64::from(self.settings.min_p);
        let mut candidates: Vec<(u32, f64)> = (0_u32..)
            .zip(logits)
            .map(|(id, &logit)| (id, ((f64::from(logit) - highest) / temperature).exp()))
            .filter(|(_, weight)| *weight > 0.0 && *weight >= floor)
            .collect();
        candidates.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        if self.settings.top_k > 0 {
            candidates.truncate(self.settings.top_k);
        }
        let total: f64 = candidates.iter().map(|(_, weight)| weight).sum();
        let enough = total * f64::from(self.settings.top_p);
        let mut sum = 0.0;
        let short = candidates.iter().take_while(|(_, weight)| {
            let still_short = sum < enough;
            sum += weight;
            still_short
        });
        let kept = short.count();
        candidates.truncate(kept.max(1));
        candidates
    }
}

/// The lowest id with the highest logit. Logits that are not numbers never win.
pub fn first_maximum(logits: &[f32]) -> u32 {
    let mut best = (0, f32::NEG_INFINITY);
    for (id, &logit) in (0_u32..).zip(logits) {
        if logit > best.1 {
            best = (id, logit);
        }
    }
    best.0
}

/// The candidate at which the running sum passes `uniform` times the total.
fn draw(candidates: &[(u32, f64)], uniform: f64) -> u32 {
    let total: f64 = candidates.iter().map(|(_, weight)| weight).sum();
    let mut rest = uniform * total;
    for (id, weight) in candidates {
        rest -= weight;
        if rest < 0.0 {
            return *id;
        }
    }
    candidates.last().map_or(0, |(id, _)| *id)
}

/// A number in 0..1 from a seed and a counter: `SplitMix64` (Steele, Lea and Flood 2014), so that a draw does
/// not depend on how many came before it elsewhere.
fn uniform(seed: u64, counter: u64) -> f64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let state =
        mix(seed.wrapping_add(GOLDEN)).wrapping_add(counter.wrapping_add(1).wrapping_mul(GOLDEN));
    (mix(state) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::{Sampler, Sampling, first_maximum};

    #[test]
    fn greedy_takes_the_first_maximum_and_never_a_nan() {
        assert_eq!(first_maximum(&[1.0, 3.0, 3.0, f32::NAN]), 1);
        assert_eq!(first_maximum(&[f32::NAN, -2.0, f32::NEG_INFINITY]), 1);
    }

    #[test]
    fn the_same_seed_draws_the_same_tokens_at_the_right_rate() {
        let settings = Sampling { temperature: 1.0, seed: 7, ..Sampling::default() };
        let logits = [0.0, 3.0_f32.ln(), f32::NEG_INFINITY];
        let draws = |settings| {
            let mut sampler = Sampler::new(settings);
            (0..4000).map(|_| sampler.choose(&logits, &[], &[])).collect::<Vec<_>>()
        };
        let first = draws(settings);
        assert_eq!(first, draws(settings));
        assert_ne!(first, draws(Sampling { seed: 8, ..settings }));
        let ones = first.iter().filter(|&&id| id == 1).count();
        // 3000 expected, standard deviation 27.
        assert!((2880..3120).contains(&ones), "{ones}");
        assert!(!first.contains(&2));
    }

    #[test]
    fn filters_keep_what_they_say() {
        let logits = [0.5_f32, 0.25, 0.15, 0.1].map(f32::ln);
        let kept = |settings| {
            let sampler = Sampler::new(Sampling { temperature: 1.0, ..settings });
            sampler.candidates(&logits).into_iter().map(|(id, _)| id).collect::<Vec<_>>()
        };
        let all = Sampling::default();
        assert_eq!(kept(all), [0, 1, 2, 3]);
        assert_eq!(kept(Sampling { top_k: 2, ..all }), [0, 1]);
        assert_eq!(kept(Sampling { top_p: 0.6, ..all }), [0, 1]);
        assert_eq!(kept(Sampling { top_p: 0.5, ..all }), [0]);
        assert_eq!(kept(Sampling { min_p: 0.25, ..all }), [0, 1, 2]);
    }

    #[test]
    fn penalties_look_at_what_was_seen() {
        let settings = Sampling {
            repetition_penalty: 2.0,
            presence_penalty: 0.5,
            frequency_penalty: 0.25,
            ..Sampling::default()
        };
        let sampler = Sampler::new(settings);
        let penalised = sampler.penalise(&[2.0, -1.0, 4.0, 1.0], &[0, 1], &[2, 2]);
        assert_eq!(penalised, [1.0, -2.0, 1.0, 1.0]);
    }
}
