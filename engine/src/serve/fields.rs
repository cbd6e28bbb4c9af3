//! The fields of a request that both interfaces share: how to choose tokens, when to stop, what to tell.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::app::Settings;
use super::body::Body;
use super::error::ApiError;
use crate::generation::Generation;
use crate::sampler::Sampling;
use crate::scheduler::Policy;

/// Below it vLLM takes the most likely token, as at 0.
const GREEDY_BELOW: f32 = 1e-5;
/// How far a bias goes, in OpenAI's interface.
const MOST_BIAS: f32 = 100.0;
/// Stop strings of a request.
const MOST_STOPS: usize = 64;

/// Fields that change nothing here, and nothing in vLLM.
const INERT: [&str; 9] = [
    "user",
    "store",
    "metadata",
    "service_tier",
    "parallel_tool_calls",
    "include_reasoning",
    "spaces_between_special_tokens",
    "safety_identifier",
    "prompt_cache_key",
];
/// Fields that ask for what is not there yet.
const REFUSED: [&str; 16] = [
    "suffix",
    "use_beam_search",
    "prompt_embeds",
    "structured_outputs",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "kv_transfer_params",
    "vllm_xargs",
    "repetition_detection",
    "thinking_token_budget",
    "truncate_prompt_tokens",
    "bad_words",
    "allowed_token_ids",
    "logits_processors",
];

/// One text or several.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a string or a list of strings")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// The fields.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Fields {
    pub(super) model: Option<String>,
    n: Option<usize>,
    pub(super) stream: Option<bool>,
    pub(super) stream_options: Option<StreamOptions>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    top_k: Option<i64>,
    min_p: Option<f32>,
    repetition_penalty: Option<f32>,
    presence_penalty: Option<f32>,
    frequency_penalty: Option<f32>,
    seed: Option<i64>,
    stop: Option<OneOrMore>,
    stop_token_ids: Option<Vec<u32>>,
    include_stop_str_in_output: Option<bool>,
    skip_special_tokens: Option<bool>,
    ignore_eos: Option<bool>,
    min_tokens: Option<usize>,
    logit_bias: Option<BTreeMap<String, f32>>,
    return_token_ids: Option<bool>,
    return_tokens_as_token_ids: Option<bool>,
    pub(super) request_id: Option<String>,
    priority: Option<i64>,
    cache_salt: Option<String>,
}

/// What a stream tells besides text.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

impl Fields {
    /// Reads the shared fields of a body, and refuses those that ask for what is not there.
    pub(super) fn read(body: &mut Body, settings: &Settings) -> Result<Self, ApiError> {
        let fields: Self = body.fields()?;
        for key in INERT {
            body.take(key);
        }
        REFUSED.iter().try_for_each(|key| body.refuse(key, &[]))?;
        body.refuse("length_penalty", &[json!(1), json!(1.0)])?;
        body.refuse("truncation_side", &[])?;
        body.refuse("best_of", &[json!(1), json!(fields.choices())])?;
        body.refuse("response_format", &[json!({"type": "text"})])?;
        fields.check(settings)?;
        Ok(fields)
    }

    fn check(&self, settings: &Settings) -> Result<(), ApiError> {
        if let Some(model) = self.model.as_deref().filter(|model| !model.is_empty())
            && !settings.names.iter().any(|name| name == model)
        {
            let message = format!("The model `{model}` does not exist.");
            let error = ApiError::new(axum::http::StatusCode::NOT_FOUND, message);
            return Err(ApiError { param: Some("model".to_owned()), ..error });
        }
        let streams = self.stream.unwrap_or(false);
        let within = |value: Option<f32>, least: f32, most: f32| {
            value.is_none_or(|value| (least..=most).contains(&value))
        };
        let stops = self.stops();
        let rules = [
            ("n", "must be between 1 and 128", (1..=128).contains(&self.choices())),
            (
                "stream_options",
                "can only be set with stream",
                streams || self.stream_options.is_none(),
            ),
            ("temperature", "must be between 0 and 100", within(self.temperature, 0.0, 100.0)),
            ("top_p", "must be above 0 and at most 1", within(self.top_p, f32::MIN_POSITIVE, 1.0)),
            ("top_k", "must be 0 or -1 for all, or at least 1", self.top_k.is_none_or(|k| k >= -1)),
            ("min_p", "must be between 0 and 1", within(self.min_p, 0.0, 1.0)),
            (
                "presence_penalty",
                "must be between -2 and 2",
                within(self.presence_penalty, -2.0, 2.0),
            ),
            (
                "frequency_penalty",
                "must be between -2 and 2",
                within(self.frequency_penalty, -2.0, 2.0),
            ),
            (
                "repetition_penalty",
                "must be above 0",
                within(self.repetition_penalty, f32::MIN_POSITIVE, f32::MAX),
            ),
            ("stop", "must not hold an empty string", !stops.iter().any(String::is_empty)),
            ("stop", "holds too many strings", stops.len() <= MOST_STOPS),
            ("cache_salt", "must not be empty", self.cache_salt.as_deref() != Some("")),
            (
                "priority",
                "needs a server with --scheduling-policy priority",
                self.priority.unwrap_or(0) == 0 || settings.policy == Policy::Priority,
            ),
        ];
        match rules.into_iter().find(|(_, _, holds)| !holds) {
            Some((field, fault, _)) => Err(ApiError::field(field, format!("{field} {fault}"))),
            None => Ok(()),
        }
    }

    /// Choices of each prompt.
    pub(super) fn choices(&self) -> usize {
        self.n.unwrap_or(1)
    }

    /// Whether, and how often, usage is streamed: at the end, and with each chunk.
    pub(super) fn streamed_usage(&self) -> (bool, bool) {
        let options = self.stream_options.unwrap_or_default();
        let at_end = options.include_usage.unwrap_or(false);
        (at_end, at_end && options.continuous_usage_stats.unwrap_or(false))
    }

    /// The stop strings.
    pub(super) fn stops(&self) -> Vec<String> {
        match &self.stop {
            None => Vec::new(),
            Some(OneOrMore::One(stop)) => vec![stop.clone()],
            Some(OneOrMore::More(stops)) => stops.clone(),
        }
    }

    /// Whether stop strings stay in the text.
    pub(super) fn includes_stop(&self) -> bool {
        self.include_stop_str_in_output.unwrap_or(false)
    }

    /// Whether special tokens have no text.
    pub(super) fn skips_special(&self) -> bool {
        self.skip_special_tokens.unwrap_or(true)
    }

    /// Whether ids are told beside texts.
    pub(super) fn returns_ids(&self) -> bool {
        self.return_token_ids.unwrap_or(false)
    }

    /// Whether log probabilities name tokens by their ids.
    pub(super) fn names_by_id(&self) -> bool {
        self.return_tokens_as_token_ids.unwrap_or(false)
    }

    /// The request to the engine for one choice of a prompt.
    pub(super) fn request(
        &self,
        prompt_ids: Vec<u32>,
        max_tokens: usize,
        choice: usize,
        settings: &Settings,
    ) -> Result<crate::engine::Request, ApiError> {
        let room = settings.max_model_len;
        let prompt = prompt_ids.len();
        if prompt.saturating_add(max_tokens) > room {
            return Err(ApiError::bad(format!(
                "This model's maximum context length is {room} tokens. However, you requested {max_tokens} output tokens \
                 and your prompt contains {prompt} input tokens, for a total of {} tokens. Please reduce the length of the \
                 input prompt or the number of requested output tokens.",
                prompt.saturating_add(max_tokens)
            )));
        }
        let min_tokens = self.min_tokens.unwrap_or(0);
        if min_tokens > max_tokens {
            let message =
                format!("min_tokens is {min_tokens}, more than the {max_tokens} of max_tokens");
            return Err(ApiError::field("min_tokens", message));
        }
        let generation = Generation {
            prompt_ids,
            max_tokens,
            min_tokens,
            ignore_eos: self.ignore_eos.unwrap_or(false),
            stop_ids: self.stop_token_ids.clone().unwrap_or_default(),
            logit_bias: self.bias(settings.vocabulary)?,
            sampling: self.sampling(choice),
            ..Generation::default()
        };
        let (priority, salt) = (self.priority.unwrap_or(0), self.cache_salt.clone());
        Ok(crate::engine::Request { generation, priority, salt })
    }

    fn bias(&self, vocabulary: usize) -> Result<Vec<(u32, f32)>, ApiError> {
        let biases = self.logit_bias.iter().flatten().map(|(id, bias)| match id.parse::<u32>() {
            Ok(id) if (id as usize) < vocabulary => Ok((id, bias.clamp(-MOST_BIAS, MOST_BIAS))),
            _ => {
                let message =
                    format!("logit_bias names {id:?}, and the vocabulary has {vocabulary} ids");
                Err(ApiError::field("logit_bias", message))
            }
        });
        biases.collect()
    }

    fn sampling(&self, choice: usize) -> Sampling {
        let neutral = Sampling::default();
        let temperature = self.temperature.unwrap_or(1.0);
        let seed = self.seed.map_or_else(random, |seed| seed as u64);
        Sampling {
            temperature: if temperature < GREEDY_BELOW { 0.0 } else { temperature },
            top_k: self.top_k.unwrap_or(0).max(0) as usize,
            top_p: self.top_p.unwrap_or(neutral.top_p),
            min_p: self.min_p.unwrap_or(neutral.min_p),
            seed: seed.wrapping_add(choice as u64),
            repetition_penalty: self.repetition_penalty.unwrap_or(neutral.repetition_penalty),
            presence_penalty: self.presence_penalty.unwrap_or(neutral.presence_penalty),
            frequency_penalty: self.frequency_penalty.unwrap_or(neutral.frequency_penalty),
        }
    }
}

/// A number that nobody can foresee: the keys of a hasher of the standard library are the system's random bytes.
pub(super) fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
