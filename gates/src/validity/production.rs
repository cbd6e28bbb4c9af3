//! The oracle ran as it does in production, as its own process says: compiled, fused, and every backend told. What it does not
//! say counts as what it may not be.

use std::collections::BTreeMap;

use oracles::registry::{Device, Protocol};
use oracles::verbs::Identity;

use super::Violation;
use crate::facts::Pinned;
use crate::rule::Rule;

/// What one key of the read-back must say.
struct Demand {
    rule: Rule,
    key: &'static str,
    /// What it must be, in words.
    must: &'static str,
    /// A value that it may be.
    like: &'static str,
    is_met: fn(&str) -> bool,
}

const fn demand(
    rule: Rule,
    key: &'static str,
    must: &'static str,
    like: &'static str,
    is_met: fn(&str) -> bool,
) -> Demand {
    Demand { rule, key, must, like, is_met }
}

fn is_false(value: &str) -> bool {
    value == "false"
}

fn is_true(value: &str) -> bool {
    value == "true"
}

/// Not what stands for nothing or for what nobody knows.
fn is_said(value: &str) -> bool {
    !matches!(value, "" | "unknown")
}

/// A mode that is one.
fn is_on(value: &str) -> bool {
    is_said(value) && value != "NONE"
}

/// Graphs of SGLang that are captured.
fn is_enabled(value: &str) -> bool {
    is_said(value) && !matches!(value, "none" | "disabled")
}

/// An attention of SGLang that is not torch's own.
fn is_fused(value: &str) -> bool {
    is_said(value) && !matches!(value, "none" | "torch_native")
}

fn is_not_eager(value: &str) -> bool {
    is_said(value) && value != "eager"
}

const VLLM: [Demand; 6] = [
    demand(Rule::Eager, "enforce_eager", "false", "false", is_false),
    demand(Rule::Eager, "compilation_mode", "a mode that compiles", "VLLM_COMPILE", is_on),
    demand(Rule::Unfused, "compilation_backend", "one that fuses", "inductor", is_not_eager),
    demand(Rule::Backend, "attention_backend", "told", "FLASH_ATTN", is_said),
    demand(Rule::Backend, "kv_cache_dtype", "told", "auto", is_said),
    demand(Rule::Backend, "enable_prefix_caching", "told", "false", is_said),
];

/// On a GPU a compiled model without graphs still launches each kernel by itself.
const VLLM_CUDA: [Demand; 1] =
    [demand(Rule::Eager, "cudagraph_mode", "a mode that uses graphs", "FULL_AND_PIECEWISE", is_on)];

/// Graphs of a step and of pieces of a prompt: what is between the pieces is launched by itself.
const SGLANG: [Demand; 5] = [
    demand(Rule::Eager, "decode_cuda_graph", "one that uses graphs", "full", is_enabled),
    demand(Rule::Eager, "prefill_cuda_graph", "one that uses graphs", "breakable", is_enabled),
    demand(Rule::Unfused, "attention_backend", "a fused one", "fa3", is_fused),
    demand(Rule::Backend, "kv_cache_dtype", "told", "auto", is_said),
    demand(Rule::Backend, "disable_radix_cache", "told", "true", is_said),
];

/// Its graph is always built as a whole: there is no eager form.
const LLAMA_SERVER: [Demand; 3] = [
    demand(Rule::Unfused, "flash_attn_resolved", "enabled", "enabled", |value| value == "enabled"),
    demand(Rule::Backend, "kv_type_k", "told", "f16", is_said),
    demand(Rule::Backend, "kv_type_v", "told", "f16", is_said),
];

const DRIVER: [Demand; 3] = [
    demand(Rule::Eager, "compiled", "true", "true", is_true),
    demand(Rule::Unfused, "attention", "a fused one", "sdpa", is_not_eager),
    demand(Rule::Backend, "cpu_capability", "told", "AVX2", is_said),
];

/// What is demanded of an oracle's read-back; `None` where it has no launch that could be read back.
fn demands(oracle: &Pinned) -> Option<impl Iterator<Item = &'static Demand>> {
    let declared = &oracle.declared;
    let (demands, more): (&[Demand], &[Demand]) = match declared.launch.as_ref()?.protocol {
        Protocol::Vllm if declared.device == Device::Cuda => (&VLLM, &VLLM_CUDA),
        Protocol::Vllm => (&VLLM, &[]),
        Protocol::Sglang => (&SGLANG, &[]),
        Protocol::LlamaServer => (&LLAMA_SERVER, &[]),
        Protocol::Driver => (&DRIVER, &[]),
    };
    Some(demands.iter().chain(more))
}

/// V-EAGER, V-UNFUSED and V-BACKEND: every demand on a production oracle that `identity` does not meet.
pub fn production(identity: &Identity, oracle: &Pinned) -> Vec<Violation> {
    let Some(demands) = demands(oracle) else {
        let reason = format!("oracle {} says nothing of how it runs", oracle.name);
        return vec![Violation { rule: Rule::Backend, reason }];
    };
    let unmet = |demand: &Demand| {
        let found = identity.settings.get(demand.key).map_or("unknown", String::as_str);
        (!(demand.is_met)(found)).then(|| Violation {
            rule: demand.rule,
            reason: format!(
                "the spec's [launch] asks for production: {} of {} must be {}, it says {found}",
                demand.key, oracle.name, demand.must
            ),
        })
    };
    demands.filter_map(unmet).collect()
}

/// A read-back that meets every demand: what stands in for an oracle says this of itself.
pub fn in_production(oracle: &Pinned) -> BTreeMap<String, String> {
    let demands = demands(oracle).into_iter().flatten();
    demands.map(|demand| (demand.key.to_owned(), demand.like.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use oracles::Home;
    use oracles::golden::Golden;
    use oracles::registry::OracleSpec;

    use super::*;

    fn home() -> Home {
        Home { root: Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), cache: "unused".into() }
    }

    fn oracle(name: &str) -> Pinned {
        Pinned::from(&OracleSpec::load(&home(), name).unwrap())
    }

    /// The read-back of a committed golden.
    fn golden(oracle: &str, gate: &str) -> Identity {
        Golden::read(&home(), oracle, gate).unwrap().unwrap().manifest.oracle
    }

    /// What vLLM 0.25.0 read back of a compiled start.
    fn vllm(name: &str, more: &[(&str, &str)]) -> Identity {
        let mut identity = golden("llama-cpp", "smollm2-greedy");
        name.clone_into(&mut identity.name);
        let said = [
            ("enforce_eager", "false"),
            ("compilation_mode", "DYNAMO_TRACE_ONCE"),
            ("compilation_backend", "inductor"),
            ("attention_backend", "CPU_ATTN"),
            ("kv_cache_dtype", "auto"),
            ("enable_prefix_caching", "false"),
            ("cudagraph_mode", "NONE"),
        ];
        let said = said.iter().chain(more);
        identity.settings =
            said.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        identity
    }

    fn rules(identity: &Identity, oracle: &Pinned) -> Vec<Rule> {
        production(identity, oracle).into_iter().map(|violation| violation.rule).collect()
    }

    /// One key otherwise, or not said.
    fn with(identity: &Identity, key: &str, value: Option<&str>) -> Identity {
        let mut other = identity.clone();
        other.settings.remove(key);
        other.settings.extend(value.map(|value| (key.to_owned(), value.to_owned())));
        other
    }

    #[test]
    fn llama_cpp_is_fused_or_refused() {
        let (oracle, identity) = (oracle("llama-cpp"), golden("llama-cpp", "smollm2-greedy"));
        assert_eq!(rules(&identity, &oracle), []);
        for value in [Some("disabled"), None] {
            let other = with(&identity, "flash_attn_resolved", value);
            assert_eq!(rules(&other, &oracle), [Rule::Unfused]);
        }
        assert_eq!(rules(&with(&identity, "kv_type_k", None), &oracle), [Rule::Backend]);
        assert_eq!(rules(&with(&identity, "kv_type_v", None), &oracle), [Rule::Backend]);
    }

    #[test]
    fn transformers_is_eager_and_unfused_and_says_so() {
        let oracle = oracle("transformers");
        let identity = golden("transformers", "qwen3-tiny-transformers");
        assert_eq!(rules(&identity, &oracle), [Rule::Eager, Rule::Unfused]);
        let fused = with(&identity, "attention", Some("sdpa"));
        assert_eq!(rules(&fused, &oracle), [Rule::Eager]);
        let compiled = with(&fused, "compiled", Some("true"));
        assert_eq!(rules(&compiled, &oracle), []);
        let silent = with(&compiled, "cpu_capability", None);
        assert_eq!(rules(&silent, &oracle), [Rule::Backend]);
    }

    #[test]
    fn vllm_is_compiled_or_refused() {
        let (oracle, identity) = (oracle("vllm-cpu"), vllm("vllm-cpu", &[]));
        assert_eq!(rules(&identity, &oracle), []);
        for (key, value, rule) in [
            ("enforce_eager", Some("true"), Rule::Eager),
            ("enforce_eager", None, Rule::Eager),
            ("compilation_mode", Some("NONE"), Rule::Eager),
            ("compilation_mode", None, Rule::Eager),
            ("compilation_backend", Some("eager"), Rule::Unfused),
            ("compilation_backend", None, Rule::Unfused),
            ("attention_backend", None, Rule::Backend),
            ("kv_cache_dtype", Some("unknown"), Rule::Backend),
            ("enable_prefix_caching", None, Rule::Backend),
        ] {
            assert_eq!(rules(&with(&identity, key, value), &oracle), [rule], "{key}");
        }
    }

    #[test]
    fn on_a_gpu_graphs_are_demanded_too() {
        let oracle = oracle("vllm-cuda");
        let without = vllm("vllm-cuda", &[("attention_backend", "FLASH_ATTN")]);
        assert_eq!(rules(&without, &oracle), [Rule::Eager]);
        let graphs = with(&without, "cudagraph_mode", Some("FULL_AND_PIECEWISE"));
        assert_eq!(rules(&graphs, &oracle), []);
    }

    #[test]
    fn what_stands_in_meets_every_demand() {
        for name in ["llama-cpp", "transformers", "vllm-cpu", "vllm-cuda", "sglang"] {
            let oracle = oracle(name);
            let mut identity = vllm(name, &[]);
            identity.settings = in_production(&oracle);
            assert!(!identity.settings.is_empty(), "{name}");
            assert_eq!(rules(&identity, &oracle), [], "{name}");
        }
    }

    #[test]
    fn sglang_uses_graphs_and_a_fused_attention_or_is_refused() {
        let oracle = oracle("sglang");
        let mut identity = vllm("sglang", &[]);
        identity.settings = in_production(&oracle);
        for (key, value, rule) in [
            ("decode_cuda_graph", Some("disabled"), Rule::Eager),
            ("decode_cuda_graph", None, Rule::Eager),
            ("prefill_cuda_graph", Some("disabled"), Rule::Eager),
            ("attention_backend", Some("torch_native"), Rule::Unfused),
            ("attention_backend", Some("none"), Rule::Unfused),
            ("kv_cache_dtype", None, Rule::Backend),
            ("disable_radix_cache", None, Rule::Backend),
        ] {
            assert_eq!(rules(&with(&identity, key, value), &oracle), [rule], "{key}");
        }
    }

    #[test]
    fn what_says_nothing_is_refused() {
        let mut oracle = oracle("sglang");
        oracle.declared.launch = None;
        assert_eq!(rules(&vllm("sglang", &[]), &oracle), [Rule::Backend]);
    }
}
