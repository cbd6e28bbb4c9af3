//! The configuration of a Hugging Face folder: `config.json`.

use kernels::ops::Pairs;

use super::keys::Keys;
use super::{
    ComputeType, ConfigError, EPSILON, HeadSize, ModelConfig, POSITIVE, RopeConfig, RopeScaling,
    SIZE, is_epsilon, is_positive,
};
use crate::checkpoint::Safetensors;
use crate::models::{Family, family_named, family_names};

/// Keys that say nothing about the computation, whatever the family, with the reason.
const IGNORED: &[(&str, &str)] = &[
    ("_name_or_path", "where the file once lay"),
    ("architectures", "model_type names the family"),
    ("attention_dropout", "used in training only"),
    ("initializer_range", "used in training only"),
    ("pad_token_id", "no batch is padded"),
    ("transformers_version", "the version that wrote the file"),
    ("use_cache", "how to generate, not what to compute"),
];

/// The base of the rotary embedding where a configuration names none.
const DEFAULT_ROPE_BASE: f32 = 10_000.0;

pub(super) fn read(files: &Safetensors) -> Result<ModelConfig, ConfigError> {
    let folder = if files.path().is_dir() { Some(files.path()) } else { files.path().parent() };
    let folder = folder.unwrap_or(files.path());
    let keys = Keys::read(folder.join("config.json"))?;
    let generation = Keys::find_file(folder.join("generation_config.json"))?;
    let family = family(&keys)?;
    let mut config = model(&keys, family)?;
    config.end_ids = end_ids(&keys, generation.as_ref(), config.vocabulary)?;
    for (key, _reason) in IGNORED.iter().chain(family.ignored) {
        keys.find(key);
    }
    for fixed in family.fixed {
        if keys.find(fixed.key).is_some_and(|value| !(fixed.accepts)(value)) {
            return Err(keys.refuse(fixed.key, fixed.expected));
        }
    }
    unknown(&keys, family)?;
    Ok(config)
}

fn family(keys: &Keys) -> Result<&'static Family, ConfigError> {
    let name = keys.required("model_type", "the name of a family", keys.string("model_type")?)?;
    family_named(&name).ok_or_else(|| ConfigError::Architecture {
        path: keys.path().to_path_buf(),
        found: name,
        supported: family_names(),
    })
}

fn unknown(keys: &Keys, family: &'static Family) -> Result<(), ConfigError> {
    let unused = keys.unused();
    if unused.is_empty() {
        return Ok(());
    }
    Err(ConfigError::UnknownKeys {
        path: keys.path().to_path_buf(),
        family: family.name,
        keys: unused,
    })
}

/// The ids that end a generation: as in transformers, generation_config.json comes before config.json. Its other keys say how
/// to choose tokens, which is for each request to say.
fn end_ids(
    keys: &Keys,
    generation: Option<&Keys>,
    vocabulary: usize,
) -> Result<Vec<u32>, ConfigError> {
    let mut named = None;
    for keys in generation.into_iter().chain([keys]) {
        // The tokenizer decides which tokens begin a prompt.
        keys.ids("bos_token_id", vocabulary)?;
        let ids = keys.ids("eos_token_id", vocabulary)?;
        named = named.or(ids);
    }
    Ok(named.unwrap_or_default())
}

fn model(keys: &Keys, family: &'static Family) -> Result<ModelConfig, ConfigError> {
    let size = |key| keys.required(key, SIZE, keys.size(key)?);
    let (hidden, heads) = (size("hidden_size")?, size("num_attention_heads")?);
    if keys.string("hidden_act")?.is_some_and(|name| name != "silu") {
        return Err(keys.refuse("hidden_act", "\"silu\""));
    }
    let norm_eps = keys.number("rms_norm_eps", EPSILON, is_epsilon)?;
    let config = ModelConfig {
        family,
        vocabulary: size("vocab_size")?,
        hidden,
        intermediate: size("intermediate_size")?,
        layers: size("num_hidden_layers")?,
        heads,
        key_value_heads: keys.size("num_key_value_heads")?.unwrap_or(heads),
        head_dim: keys.size("head_dim")?.unwrap_or(hidden / heads),
        context_length: size("max_position_embeddings")?,
        norm_eps: keys.required("rms_norm_eps", EPSILON, norm_eps)?,
        rope: rope(keys, family)?,
        attention_bias: keys.bool("attention_bias")?.unwrap_or(false),
        tied_head: keys.bool("tie_word_embeddings")?.unwrap_or(false),
        compute: compute(keys)?,
        end_ids: Vec::new(),
    };
    match config.head_fault() {
        None => Ok(config),
        Some(fault) => {
            let key = match fault.size {
                HeadSize::KeyValueHeads => "num_key_value_heads",
                HeadSize::Width => "head_dim",
            };
            Err(keys.refuse_value(key, fault.found, fault.expected))
        }
    }
}

/// `dtype`, or `torch_dtype` as it was called before transformers 5.
fn compute(keys: &Keys) -> Result<Option<ComputeType>, ConfigError> {
    let (new, old) = (keys.string("dtype")?, keys.string("torch_dtype")?);
    let key = if new.is_some() { "dtype" } else { "torch_dtype" };
    match new.or(old).as_deref() {
        None => Ok(None),
        Some("float32") => Ok(Some(ComputeType::F32)),
        Some("bfloat16") => Ok(Some(ComputeType::Bf16)),
        Some(_) => Err(keys.refuse(key, "\"float32\" or \"bfloat16\"")),
    }
}

/// `rope_parameters`, or `rope_theta` and `rope_scaling` as they were before transformers 5.
fn rope(keys: &Keys, family: &'static Family) -> Result<RopeConfig, ConfigError> {
    let base = |keys: &Keys| keys.number("rope_theta", POSITIVE, is_positive);
    let outer_base = base(keys)?;
    let parameters = match keys.object("rope_parameters")? {
        None => keys.object("rope_scaling")?,
        Some(parameters) if keys.find("rope_scaling").is_some() => {
            return Err(
                parameters.refuse("rope_scaling", "only one of rope_parameters and rope_scaling")
            );
        }
        Some(parameters) => Some(parameters),
    };
    let (inner_base, scaling) = match parameters {
        None => (None, RopeScaling::None),
        Some(parameters) => {
            let scaling = scaling(&parameters)?;
            let inner_base = base(&parameters)?;
            unknown(&parameters, family)?;
            (inner_base, scaling)
        }
    };
    let base = inner_base.or(outer_base).unwrap_or(DEFAULT_ROPE_BASE);
    Ok(RopeConfig { base, pairs: Pairs::Halves, scaling })
}

fn scaling(keys: &Keys) -> Result<RopeScaling, ConfigError> {
    let number = |key| keys.required(key, POSITIVE, keys.number(key, POSITIVE, is_positive)?);
    let (new, old) = (keys.string("rope_type")?, keys.string("type")?);
    let key = if new.is_some() { "rope_type" } else { "type" };
    match new.or(old).as_deref() {
        None | Some("default") => Ok(RopeScaling::None),
        Some("linear") => Ok(RopeScaling::Linear { factor: number("factor")? }),
        Some("llama3") => {
            let original_context = keys.size("original_max_position_embeddings")?;
            let low_frequency_factor = number("low_freq_factor")?;
            let high_frequency_factor = number("high_freq_factor")?;
            if high_frequency_factor <= low_frequency_factor {
                let expected = format!("a number above low_freq_factor, {low_frequency_factor},");
                return Err(keys.refuse("high_freq_factor", expected));
            }
            Ok(RopeScaling::Llama3 {
                factor: number("factor")?,
                low_frequency_factor,
                high_frequency_factor,
                original_context: keys.required(
                    "original_max_position_embeddings",
                    SIZE,
                    original_context,
                )?,
            })
        }
        Some(_) => Err(keys.refuse(key, "\"default\", \"linear\" or \"llama3\"")),
    }
}
