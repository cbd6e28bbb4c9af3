//! Who is running: what the process says about itself, compared with what was pinned and asked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::super::LaunchError;
use super::super::http::Http;
use super::super::said::add_layer;
use super::super::start::Start;
use crate::registry::{Device, LaunchSpec};
use crate::verbs::Identity;

/// The setting that says what `flash_attn = auto` became.
const RESOLVED: &str = "flash_attn_resolved";

/// The setting that says how many of the layers compute on the GPU, as in `31/31`.
const OFFLOADED: &str = "offloaded_layers";

/// What was started, to be compared with what it says.
pub(super) struct Question<'a> {
    pub(super) start: &'a Start<'a>,
    pub(super) launch: &'a LaunchSpec,
    pub(super) executable: &'a Path,
    pub(super) flags: &'a [String],
    pub(super) log: &'a Path,
}

impl Question<'_> {
    /// The identity, and the size of the vocabulary.
    pub(super) fn ask(&self, http: &Http) -> Result<(Identity, usize), LaunchError> {
        let props = http.get("props", "/props")?;
        let models = http.get("models", "/v1/models")?;
        let said = self.start.account(self.log, Said::parse, Said::missing)?;
        self.check(&props, &said)?;
        let meta = models.pointer("/data/0/meta");
        let vocabulary = meta.and_then(|meta| meta.get("n_vocab")?.as_u64());
        let vocabulary = vocabulary.ok_or_else(|| self.silent("vocabulary size"))?;
        let identity = self.identity(&props, meta, said)?;
        Ok((identity, vocabulary as usize))
    }

    fn silent(&self, key: &str) -> LaunchError {
        self.start.silent(key, self.log)
    }

    fn check(&self, props: &Value, said: &Said) -> Result<(), LaunchError> {
        let expect = |key: &str, expected: &str, found: &str| {
            self.start.expect(self.log, key, expected, found)
        };
        let prop = |key: &str| match props.pointer(key) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(value) => Ok(value.to_string()),
            None => Err(self.silent(key)),
        };
        expect(
            "model_path",
            &self.start.checkpoint.path.display().to_string(),
            &prop("/model_path")?,
        )?;
        let sequences = self.start.settings.sequences;
        expect("total_slots", &sequences.to_string(), &prop("/total_slots")?)?;
        if let Some(build) = &self.start.oracle.spec.declared.build
            && let Some(commit) = &build.commit
        {
            // `bNUMBER-COMMIT`, the commit shortened.
            let info = prop("/build_info")?;
            let short = info.rsplit('-').next().unwrap_or_default();
            if short.len() < 7 || !commit.sha.starts_with(short) {
                expect("build_info", &commit.sha, &info)?;
            }
        }
        let settings = self.start.settings;
        // A batch is never larger than the context, nor a physical batch than a logical one.
        let context = settings.context * sequences;
        let batch = settings.batch.min(context);
        for (key, expected) in [
            ("n_threads", settings.threads),
            ("n_threads_batch", settings.threads),
            ("n_ctx", context),
            ("n_batch", batch),
            ("n_ubatch", settings.ubatch.min(batch)),
        ] {
            expect(key, &expected.to_string(), said.setting(key))?;
        }
        // A layer that stayed with the CPU would be an answer of two devices.
        let layers = said.setting(OFFLOADED);
        let device = self.start.oracle.spec.declared.device;
        let all = layers.split_once('/').is_some_and(|(moved, all)| moved == all);
        if device == Device::Cuda && !all {
            expect(OFFLOADED, "all layers on the device", layers)?;
        }
        let list = |features: &[String]| {
            features.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        };
        let expected = list(&self.launch.cpu_features).join(" ");
        expect("cpu features", &expected, &list(&said.cpu_features).join(" "))
    }

    fn identity(
        &self,
        props: &Value,
        meta: Option<&Value>,
        said: Said,
    ) -> Result<Identity, LaunchError> {
        let manifest = &self.start.oracle.manifest;
        let mut build: BTreeMap<String, String> = self.version()?;
        build.extend(manifest.tools.clone());
        build.extend(manifest.commit.clone().map(|commit| ("commit".to_owned(), commit)));
        build.insert("built_at".to_owned(), manifest.built_at.clone());
        let mut settings = said.settings;
        let plain = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        for key in ["model_ftype", "total_slots"] {
            settings.extend(props.get(key).map(|value| (key.to_owned(), plain(value))));
        }
        for key in ["n_vocab", "n_ctx_train", "n_params"] {
            let value = meta.and_then(|meta| meta.get(key));
            settings.extend(value.map(|value| (key.to_owned(), plain(value))));
        }
        build.extend(props.get("build_info").map(|info| ("build_info".to_owned(), plain(info))));
        let binary_sha256 = self.start.oracle.executable_sha256(&self.launch.executable);
        Ok(Identity {
            name: self.start.oracle.spec.name.clone(),
            version: manifest.version.clone(),
            source_sha256: manifest.source_sha256.clone(),
            binary_sha256: binary_sha256
                .ok_or_else(|| self.silent("executable's digest"))?
                .to_owned(),
            build,
            flags: self.start.portable(self.flags),
            cpu_features: said.cpu_features,
            settings,
        })
    }

    /// What `--version` prints: `version: ...` and `built with ...`.
    fn version(&self) -> Result<BTreeMap<String, String>, LaunchError> {
        let output = Command::new(self.executable)
            .arg("--version")
            .env_clear()
            .envs(&self.launch.environment)
            .output()
            .map_err(|source| LaunchError::Spawn {
                executable: self.executable.to_path_buf(),
                source,
            })?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let line = |start: &str| said.lines().find_map(|line| line.strip_prefix(start));
        let version = line("version: ").ok_or_else(|| self.silent("version"))?;
        let mut build = BTreeMap::from([("version".to_owned(), version.trim().to_owned())]);
        build.extend(line("built with ").map(|with| ("built_with".to_owned(), with.to_owned())));
        Ok(build)
    }
}

/// What the start-up log says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    cpu_features: Vec<String>,
    settings: BTreeMap<String, String>,
}

impl Said {
    /// Reads `system_info:` (threads and CPU features), `llama_context: KEY = VALUE`, the resolved
    /// flash attention and the types of the KV cache. Of a line that occurs again the last counts; where layers have caches
    /// of their own, as those with a sliding window have, the types of all count.
    fn parse(log: &str) -> Self {
        let mut said = Self::default();
        for line in log.lines() {
            if let Some((_, info)) = line.split_once("system_info: ") {
                said.system_info(info);
            } else if let Some((_, pair)) = line.split_once(" llama_context: ") {
                said.pair(pair);
            } else if let Some((_, state)) = line.split_once("resolve_fused_ops: Flash Attention ")
            {
                said.set(RESOLVED, state);
            } else if let Some((_, rest)) = line.split_once(" llama_kv_cache: size =") {
                said.kv_types(rest);
            } else if let Some((_, rest)) = line.split_once("load_tensors: offloaded ") {
                said.set(OFFLOADED, rest.split_once(" layers").map_or(rest, |(layers, _)| layers));
            } else if let Some((_, mode)) = line.split_once("(load_mode = ") {
                said.set("load_mode", mode.trim_end().trim_end_matches(')'));
            }
        }
        said
    }

    /// `n_threads = 1 (n_threads_batch = 1) / 2 | CPU : SSE3 = 1 | AVX2 = 1 | `.
    fn system_info(&mut self, info: &str) {
        let mut parts = info.split('|');
        let threads = parts.next().unwrap_or_default();
        let threads = threads.split('/').next().unwrap_or_default().replace(['(', ')'], " ");
        let words: Vec<&str> = threads.split_whitespace().collect();
        for triple in words.chunks(3) {
            if let [key, "=", value] = triple {
                self.set(key, value);
            }
        }
        self.cpu_features = parts
            .filter_map(|part| {
                // The first feature of a device follows the device's name.
                let feature = part.rsplit(" : ").next().unwrap_or(part);
                let (name, value) = feature.split_once('=')?;
                (value.trim() == "1").then(|| name.trim().to_owned())
            })
            .collect();
    }

    fn pair(&mut self, pair: &str) {
        // Only lines of the form `KEY   = VALUE`.
        if let Some((key, value)) = pair.split_once('=')
            && !key.trim().is_empty()
            && key.trim().chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            self.set(key.trim(), value);
        }
    }

    /// `... , K (f16):   45.00 MiB, V (f16):   45.00 MiB`.
    fn kv_types(&mut self, rest: &str) {
        for (key, opening) in [("kv_type_k", "K ("), ("kv_type_v", "V (")] {
            let kind = rest.split_once(opening).and_then(|(_, after)| after.split_once(')'));
            if let Some((kind, _)) = kind {
                add_layer(&mut self.settings, key, kind);
            }
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        self.settings.insert(key.to_owned(), value.trim().to_owned());
    }

    fn setting(&self, key: &str) -> &str {
        self.settings.get(key).map_or("nothing", String::as_str)
    }

    /// The first thing that the log does not say and that an identity needs.
    fn missing(&self) -> Option<&'static str> {
        const NEEDED: [&str; 8] = [
            "n_threads",
            "n_threads_batch",
            "n_ctx",
            "n_batch",
            "n_ubatch",
            "flash_attn",
            "kv_type_k",
            "kv_type_v",
        ];
        if self.cpu_features.is_empty() {
            return Some("CPU features");
        }
        if self.setting("flash_attn") == "auto" && !self.settings.contains_key(RESOLVED) {
            return Some(RESOLVED);
        }
        NEEDED.into_iter().find(|key| !self.settings.contains_key(*key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a real start, shortened.
    const LOG: &str = "\
0.00.002.894 I cmn  common_param: system_info: n_threads = 1 (n_threads_batch = 2) / 2 | CPU : SSE3 = 1 | AVX2 = 1 | AVX512 = 0 | REPACK = 1 | \n\
0.00.202.730 I load_tensors: loading model tensors, this can take a while... (load_mode = mmap)\n\
0.00.208.101 I load_tensors: offloaded 31/31 layers to GPU\n\
0.00.210.564 I llama_context: n_ctx                 = 4096\n\
0.00.210.565 I llama_context: n_batch               = 2048\n\
0.00.210.566 I llama_context: n_ubatch              = 512\n\
0.00.210.567 I llama_context: flash_attn            = auto\n\
0.00.210.587 I llama_context: n_ctx_seq (4096) < n_ctx_train (8192) -- the full capacity of the model will not be utilized\n\
0.00.258.402 I llama_kv_cache: size =   90.00 MiB (  4096 cells,  30 layers,  1/1 seqs), K (f16):   45.00 MiB, V (q8_0):   45.00 MiB\n\
0.00.259.774 I resolve_fused_ops: Flash Attention enabled\n";

    #[test]
    fn a_real_log_is_read() {
        let said = Said::parse(LOG);
        assert_eq!(said.missing(), None);
        assert_eq!(said.cpu_features, ["SSE3", "AVX2", "REPACK"]);
        let expected = [
            ("flash_attn", "auto"),
            ("flash_attn_resolved", "enabled"),
            ("kv_type_k", "f16"),
            ("kv_type_v", "q8_0"),
            ("load_mode", "mmap"),
            ("n_batch", "2048"),
            ("n_ctx", "4096"),
            ("n_threads", "1"),
            ("n_threads_batch", "2"),
            ("n_ubatch", "512"),
            ("offloaded_layers", "31/31"),
        ];
        let found: Vec<(&str, &str)> =
            said.settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    /// A model with a sliding window has one cache for the layers with it and one for those without.
    #[test]
    fn caches_of_different_types_are_all_told() {
        let size = |kind: &str| {
            format!(
                "I llama_kv_cache: size = 1.00 MiB (8 cells, 2 layers, 1/1 seqs), K ({kind}): 1.00 MiB, V (f16): 1.00 MiB\n"
            )
        };
        let said = Said::parse(&(size("f16") + &size("q8_0") + &size("f16")));
        assert_eq!((said.setting("kv_type_k"), said.setting("kv_type_v")), ("f16 + q8_0", "f16"));
    }

    #[test]
    fn what_the_log_does_not_say_is_named() {
        assert_eq!(Said::parse("").missing(), Some("CPU features"));
        let unresolved = LOG.replace("Flash Attention", "");
        assert_eq!(Said::parse(&unresolved).missing(), Some("flash_attn_resolved"));
        // With an explicit setting there is nothing to resolve.
        let explicit = unresolved.replace("= auto", "= enabled");
        assert_eq!(Said::parse(&explicit).missing(), None);
        assert_eq!(Said::parse(&LOG.replace("n_ubatch", "x")).missing(), Some("n_ubatch"));
    }
}
