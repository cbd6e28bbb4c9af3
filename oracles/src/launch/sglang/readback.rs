//! Who is running: what SGLang says about itself at `/server_info`, compared with what was pinned and asked.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::launch::LaunchError;
use crate::launch::http::Http;
use crate::launch::start::Start;
use crate::launch::variant::Words;
use crate::registry::LaunchSpec;
use crate::verbs::Identity;

/// What is read as it is named. The scheduler's own words count before those of the front end, which does not know what
/// the scheduler resolved.
const SAID: [&str; 22] = [
    "attention_backend",
    "chunked_prefill_size",
    "decode_attention_backend",
    "device",
    "disable_overlap_schedule",
    "disable_radix_cache",
    "dtype",
    "enable_deterministic_inference",
    "enable_fp32_lm_head",
    "enable_torch_compile",
    "kv_cache_dtype",
    "load_format",
    "max_running_requests",
    "mem_fraction_static",
    "model_impl",
    "page_size",
    "prefill_attention_backend",
    "quantization",
    "random_seed",
    "sampling_backend",
    "speculative_algorithm",
    "tp_size",
];

/// What stands elsewhere or is named otherwise here: where it is said, and its name.
const NAMED: [(&str, &str); 8] = [
    ("/context_length", "n_ctx"),
    ("/cuda_graph_config/decode/backend", "decode_cuda_graph"),
    ("/cuda_graph_config/prefill/backend", "prefill_cuda_graph"),
    ("/cuda_graph_config/prefill/tc_compiler", "prefill_compiler"),
    ("/effective_max_running_requests_per_dp", "effective_max_running_requests"),
    ("/max_total_num_tokens", "kv_cache_tokens"),
    ("/memory_usage/graph", "graph_memory_gb"),
    ("/version", "version"),
];

/// What must be said.
const NEEDED: [&str; 11] = [
    "attention_backend",
    "decode_cuda_graph",
    "device",
    "disable_radix_cache",
    "dtype",
    "effective_max_running_requests",
    "kv_cache_dtype",
    "max_running_requests",
    "n_ctx",
    "prefill_cuda_graph",
    "version",
];

/// What stands for a value that nobody says.
const UNKNOWN: &str = "unknown";

/// What was started, to be compared with what it says.
pub(super) struct Question<'a> {
    pub(super) start: &'a Start<'a>,
    pub(super) launch: &'a LaunchSpec,
    pub(super) variant: &'a Words,
    pub(super) flags: &'a [String],
    pub(super) log: &'a Path,
}

impl Question<'_> {
    /// The identity of a server of ours.
    pub(super) fn ask(&self, http: &Http, binary_sha256: String) -> Result<Identity, LaunchError> {
        let settings = said(&http.get("server_info", "/server_info")?);
        if let Some(key) = NEEDED.into_iter().find(|key| !settings.contains_key(*key)) {
            return Err(self.start.silent(key, self.log));
        }
        self.check(&settings)?;
        if self.start.settings.production {
            self.check_production(&settings)?;
        }
        Ok(self.identity(settings, binary_sha256))
    }

    fn check(&self, settings: &BTreeMap<String, String>) -> Result<(), LaunchError> {
        let (asked, declared) = (self.start.settings, &self.start.oracle.spec.declared);
        let sequences = asked.sequences.to_string();
        let mut expected = vec![
            ("version", declared.package.version.clone()),
            ("device", self.start.device().to_owned()),
            ("dtype", asked.dtype.name().to_owned()),
            ("n_ctx", asked.context.to_string()),
            ("max_running_requests", sequences.clone()),
            // Less where its memory does not suffice.
            ("effective_max_running_requests", sequences),
        ];
        let declared = self.variant.expected(&self.launch.settings);
        expected.extend(declared.iter().map(|(key, value)| (key.as_str(), value.clone())));
        self.start.expect_each(self.log, settings, expected)
    }

    /// Its graphs are captured, and every choice of a backend is said.
    fn check_production(&self, settings: &BTreeMap<String, String>) -> Result<(), LaunchError> {
        let found = |key: &str| settings.get(key).map_or(UNKNOWN, String::as_str);
        let demands = [
            ("decode_cuda_graph", "disabled", "one that uses graphs"),
            ("prefill_cuda_graph", "disabled", "one that uses graphs"),
            ("attention_backend", "none", "a value that it says"),
            ("kv_cache_dtype", "none", "a value that it says"),
            ("disable_radix_cache", "none", "a value that it says"),
        ];
        let unmet = demands
            .into_iter()
            .find(|(key, refused, _)| found(key) == UNKNOWN || found(key) == *refused);
        match unmet {
            None => Ok(()),
            Some((key, _, expected)) => Err(LaunchError::NotProduction {
                oracle: self.start.name().to_owned(),
                key: key.to_owned(),
                expected: expected.to_owned(),
                found: found(key).to_owned(),
                log: self.log.to_path_buf(),
            }),
        }
    }

    fn identity(&self, settings: BTreeMap<String, String>, binary_sha256: String) -> Identity {
        let manifest = &self.start.oracle.manifest;
        let mut build = manifest.tools.clone();
        build.insert("built_at".to_owned(), manifest.built_at.clone());
        build.retain(|_, value| !value.is_empty());
        Identity {
            name: self.start.name().to_owned(),
            version: manifest.version.clone(),
            source_sha256: manifest.source_sha256.clone(),
            binary_sha256,
            build,
            flags: self.start.portable(self.flags),
            cpu_features: Vec::new(),
            settings,
        }
    }
}

/// What an answer of `/server_info` says.
fn said(answer: &Value) -> BTreeMap<String, String> {
    let scheduler = answer.pointer("/internal_states/0");
    let find = |pointer: &str| {
        let inner = scheduler.and_then(|scheduler| scheduler.pointer(pointer));
        inner.or_else(|| answer.pointer(pointer)).map(plain)
    };
    let same = SAID.iter().filter_map(|key| Some(((*key).to_owned(), find(&format!("/{key}"))?)));
    let named = NAMED.iter().filter_map(|(at, name)| Some(((*name).to_owned(), find(at)?)));
    same.chain(named).collect()
}

/// A value as text; what is not set is `none`.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The front end says what it was told, the scheduler what became of it.
    #[test]
    fn the_schedulers_words_count_before_the_front_ends() {
        let answer = json!({
            "version": "0.5.17", "dtype": "bfloat16", "attention_backend": null,
            "kv_cache_dtype": "auto", "max_total_num_tokens": 4096, "context_length": 2048,
            "internal_states": [{
                "attention_backend": "fa3", "page_size": 1, "quantization": null,
                "disable_radix_cache": true,
                "cuda_graph_config": {
                    "decode": {"backend": "full", "bs": [1]}, "prefill": {"backend": "breakable"},
                },
                "memory_usage": {"graph": {"decode": 0.02}},
            }],
        });
        let said = said(&answer);
        let said: Vec<(&str, &str)> =
            said.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let expected = [
            ("attention_backend", "fa3"),
            ("decode_cuda_graph", "full"),
            ("disable_radix_cache", "true"),
            ("dtype", "bfloat16"),
            ("graph_memory_gb", r#"{"decode":0.02}"#),
            ("kv_cache_dtype", "auto"),
            ("kv_cache_tokens", "4096"),
            ("n_ctx", "2048"),
            ("page_size", "1"),
            ("prefill_cuda_graph", "breakable"),
            ("quantization", "none"),
            ("version", "0.5.17"),
        ];
        assert_eq!(said, expected);
    }
}
