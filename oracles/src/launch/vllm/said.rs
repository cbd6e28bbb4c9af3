//! What vLLM's log and metrics say about its configuration: pure functions over their text.

use std::collections::BTreeMap;

use crate::launch::said::add_layer;

/// Keys of the engine's configuration line, `KEY=VALUE, `.
const CONFIG: [&str; 11] = [
    "dtype",
    "quantization",
    "enforce_eager",
    "kv_cache_dtype",
    "device_config",
    "enable_prefix_caching",
    "enable_chunked_prefill",
    "seed",
    "tensor_parallel_size",
    "speculative_config",
    "load_format",
];

/// Keys of the compilation's part of that line, `'KEY': VALUE, `, and the names they get here.
const COMPILATION: [(&str, &str); 4] = [
    ("mode", "compilation_mode"),
    ("backend", "compilation_backend"),
    ("custom_ops", "custom_ops"),
    ("cudagraph_mode", "cudagraph_mode"),
];

/// What must be said.
const NEEDED: [&str; 8] = [
    "dtype",
    "enforce_eager",
    "kv_cache_dtype",
    "device_config",
    "enable_prefix_caching",
    "compilation_mode",
    "attention_backend",
    "max_num_seqs",
];

/// What the log says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) settings: BTreeMap<String, String>,
}

impl Said {
    /// Reads the engine's configuration line, the resolved backends, the cores, and what became of the compilation.
    /// Of a line that occurs again the first counts: the engine prints it before anything is computed. Layers that attend
    /// by different backends are told by one line each, and all of them count.
    pub(super) fn parse(log: &str) -> Self {
        let mut said = Self::default();
        for line in log.lines() {
            said.line(line);
        }
        said
    }

    fn line(&mut self, line: &str) {
        if let Some((_, config)) = line.split_once(" with config: ") {
            self.config(config);
        } else if let Some((_, arguments)) = line.split_once("non-default args: ") {
            if let Some(value) = value(arguments, "'max_num_seqs': ") {
                self.set("max_num_seqs", &value);
            }
        } else if let Some((before, _)) = line.split_once(" backend.")
            && let Some((_, name)) = before.split_once("KV cache layout for ")
        {
            self.add("attention_backend", name);
        } else if let Some(name) = using(line, " attention backend out of") {
            self.add("attention_backend", &name);
        } else if let Some(name) = using(line, " MoE backend") {
            self.add("moe_backend", &name);
        } else if let Some(name) = using(line, " GDN prefill kernel") {
            self.add("gdn_prefill_kernel", &name);
        } else if let Some((_, cores)) = line.split_once("core ids=[") {
            let cores: Vec<&str> = cores.trim_end().trim_end_matches(']').split(", ").collect();
            self.set("cores", &cores.join(" "));
            self.set("n_threads", &cores.len().to_string());
        } else if let Some((before, _)) = line.split_once(" model runner instead")
            && let Some((_, runner)) = before.rsplit_once("the ")
        {
            self.set("model_runner", runner);
        } else if line.contains("Compiling model again due to a load failure") {
            self.set("compile_cache", "not loadable, compiled again");
        } else if line.contains("saved AOT compiled function") {
            self.set("compile_cache", "cold");
        } else if line.contains("load AOT compiled function")
            || line.contains("loaded AOT compiled")
        {
            self.set("compile_cache", "warm");
        } else if let Some((_, priority)) =
            line.split_once("Final IR op priority after setting platform defaults: ")
        {
            self.set("ir_op_priority", priority);
        }
    }

    fn config(&mut self, config: &str) {
        for key in CONFIG {
            if let Some(found) = value(config, &format!(" {key}=")) {
                let plain = found.trim_start_matches("torch.").trim_matches('\'');
                self.set(key, plain);
            }
        }
        let compilation = config.split_once("compilation_config=").map_or("", |(_, rest)| rest);
        for (key, name) in COMPILATION {
            if let Some(found) = value(compilation, &format!("'{key}': ")) {
                self.set(name, member(&found));
            }
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        let value = match value.trim() {
            "True" => "true",
            "False" => "false",
            "None" => "none",
            other => other,
        };
        self.settings.entry(key.to_owned()).or_insert_with(|| value.to_owned());
    }

    /// One more value of what may differ from layer to layer.
    fn add(&mut self, key: &str, value: &str) {
        add_layer(&mut self.settings, key, value);
    }

    /// The first thing that the log does not say and that an identity needs.
    pub(super) fn missing(&self) -> Option<&'static str> {
        NEEDED.into_iter().find(|key| !self.settings.contains_key(*key))
    }
}

/// What is used: the text between `Using ` and `what`, without its quotes.
fn using(line: &str, what: &str) -> Option<String> {
    let (before, _) = line.split_once(what)?;
    let (_, name) = before.rsplit_once("Using ")?;
    Some(name.replace('\'', ""))
}

/// What follows `start`, up to the comma that ends it; commas inside brackets do not.
fn value(text: &str, start: &str) -> Option<String> {
    // The first key of a list has no separator before it.
    let rest = text.split_once(start).map(|(_, rest)| rest);
    let rest = rest.or_else(|| text.strip_prefix(start.trim_start()))?;
    let mut depth = 0_u32;
    let end = rest.find(|c| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth > 0 => depth -= 1,
            ',' | ')' | ']' | '}' if depth == 0 => return true,
            _ => {}
        }
        false
    });
    Some(rest[..end.unwrap_or(rest.len())].trim().to_owned())
}

/// `NAME` of an enumeration's member `<Kind.NAME: 2>`; anything else without its quotes.
fn member(value: &str) -> &str {
    let inner = value.strip_prefix('<').and_then(|value| value.split_once('.'));
    inner
        .and_then(|(_, rest)| rest.split_once(':'))
        .map_or(value.trim_matches('\''), |(name, _)| name)
}

/// What the metrics say about the cache: its blocks, and the policy in effect.
pub(super) fn cache(metrics: &str) -> BTreeMap<String, String> {
    let line = metrics.lines().find_map(|line| line.strip_prefix("vllm:cache_config_info{"));
    let pairs = line.and_then(|line| line.split_once('}')).map_or("", |(pairs, _)| pairs);
    let named = [
        ("block_size", "kv_block_size"),
        ("kv_cache_size_tokens", "kv_cache_tokens"),
        ("cache_dtype", "kv_cache_dtype"),
        ("enable_prefix_caching", "enable_prefix_caching"),
    ];
    let pair = |key: &str| {
        let pair = pairs.split("\",").find_map(|pair| pair.strip_prefix(key)?.strip_prefix("=\""));
        pair.map(|value| value.trim_end_matches('"').to_lowercase())
    };
    named.into_iter().filter_map(|(key, name)| Some((name.to_owned(), pair(key)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a real start, shortened.
    const LOG: &str = "\
(APIServer pid=1) INFO 12-02 00:31:41 [api_utils.py:273] non-default args: {'host': '127.0.0.1', 'dtype': 'bfloat16', 'enable_prefix_caching': False, 'max_num_seqs': 1}\n\
(APIServer pid=1) WARNING 12-02 00:32:18 [vllm.py:541] Model Runner V2 requires Triton; using the V1 model runner instead.\n\
(EngineCore pid=2) INFO 12-02 00:32:33 [core.py:114] Initializing a V1 LLM engine (v0.25.0) with config: model='/m', speculative_config=None, dtype=torch.bfloat16, max_seq_len=2048, load_format=auto, tensor_parallel_size=1, quantization=None, quantization_config=None, enforce_eager=False, kv_cache_dtype=auto, device_config=cpu, structured_outputs_config=StructuredOutputsConfig(backend='auto', x=False), seed=0, enable_prefix_caching=False, enable_chunked_prefill=True, compilation_config={'mode': <CompilationMode.DYNAMO_TRACE_ONCE: 2>, 'debug_dump_path': None, 'backend': 'inductor', 'custom_ops': ['none', '+x'], 'cudagraph_mode': <CUDAGraphMode.NONE: 0>}, kernel_config=KernelConfig(moe_backend='auto')\n\
(EngineCore pid=2) INFO 12-02 00:32:33 [ompmultiprocessing.py:185] \tlocal_rank=0, core ids=[0, 1]\n\
(Worker pid=3) INFO 12-02 00:32:50 [selector.py:138] Using HND KV cache layout for CPU_ATTN backend.\n\
(Worker pid=3) INFO 12-02 00:34:28 [decorators.py:708] saved AOT compiled function to /c\n";

    #[test]
    fn a_real_log_is_read() {
        let said = Said::parse(LOG);
        assert_eq!(said.missing(), None);
        let expected = [
            ("attention_backend", "CPU_ATTN"),
            ("compilation_backend", "inductor"),
            ("compilation_mode", "DYNAMO_TRACE_ONCE"),
            ("compile_cache", "cold"),
            ("cores", "0 1"),
            ("cudagraph_mode", "NONE"),
            ("custom_ops", "['none', '+x']"),
            ("device_config", "cpu"),
            ("dtype", "bfloat16"),
            ("enable_chunked_prefill", "true"),
            ("enable_prefix_caching", "false"),
            ("enforce_eager", "false"),
            ("kv_cache_dtype", "auto"),
            ("load_format", "auto"),
            ("max_num_seqs", "1"),
            ("model_runner", "V1"),
            ("n_threads", "2"),
            ("quantization", "none"),
            ("seed", "0"),
            ("speculative_config", "none"),
            ("tensor_parallel_size", "1"),
        ];
        let found: Vec<(&str, &str)> =
            said.settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_the_log_does_not_say_is_named() {
        assert_eq!(Said::parse("").missing(), Some("dtype"));
        assert_eq!(
            Said::parse(&LOG.replace("layout for", "")).missing(),
            Some("attention_backend")
        );
        assert_eq!(Said::parse(&LOG.replace("'mode'", "'m'")).missing(), Some("compilation_mode"));
    }

    #[test]
    fn a_cuda_log_names_its_backend() {
        let line = "INFO [cuda.py:1] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN'].";
        assert_eq!(Said::parse(line).settings["attention_backend"], "FLASH_ATTN");
    }

    /// A demand for one backend is then not met, instead of being met by the layer that came first.
    #[test]
    fn layers_that_attend_by_different_backends_are_all_told() {
        let line = |name: &str| {
            format!(
                "INFO [cuda.py:1] Using {name} attention backend out of potential backends: ['X'].\n"
            )
        };
        let log = line("FLASH_ATTN") + &line("FLASHINFER") + &line("FLASH_ATTN");
        assert_eq!(Said::parse(&log).settings["attention_backend"], "FLASH_ATTN + FLASHINFER");
    }

    /// The forms of these lines in vLLM 0.25.0: the names with and without quotes, and the type of the weights between.
    #[test]
    fn experts_and_gated_deltas_name_what_computes_them() {
        let log = "\
INFO [unquantized.py:203] Using TRITON Unquantized MoE backend out of potential backends: ['TRITON'].\n\
INFO [nvfp4.py:211] Using 'FLASHINFER_CUTLASS' NvFp4 MoE backend out of potential backends: [].\n\
INFO [qwen_gdn_linear_attn.py:229] Using Triton/FLA GDN prefill kernel (requested=triton, head_k_dim=128).\n";
        let said = Said::parse(log).settings;
        assert_eq!(said["moe_backend"], "TRITON Unquantized + FLASHINFER_CUTLASS NvFp4");
        assert_eq!(said["gdn_prefill_kernel"], "Triton/FLA");
    }

    #[test]
    fn metrics_say_what_the_cache_is() {
        let metrics = "# HELP\nvllm:cache_config_info{_block_size_resolved=\"True\",block_size=\"128\",cache_dtype=\"auto\",enable_prefix_caching=\"False\",kv_cache_size_tokens=\"1048576\"} 1.0\n";
        let found = cache(metrics);
        assert_eq!(found["kv_block_size"], "128");
        assert_eq!(found["enable_prefix_caching"], "false");
        assert_eq!(found["kv_cache_tokens"], "1048576");
        assert_eq!(cache("").len(), 0);
    }
}
