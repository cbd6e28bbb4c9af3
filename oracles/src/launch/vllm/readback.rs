//! Who is running: what vLLM says about itself over HTTP and in its log, compared with what was pinned and asked.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::said::Said;
use crate::launch::LaunchError;
use crate::launch::http::Http;
use crate::launch::start::Start;
use crate::launch::variant::Words;
use crate::registry::{Attach, Device, LaunchSpec};
use crate::verbs::Identity;

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
        let mut settings = self.start.account(self.log, Said::parse, Said::missing)?.settings;
        settings.extend(self.over_http(http, super::MODEL)?);
        self.check(&settings)?;
        if self.start.settings.production {
            self.check_production(&settings)?;
        }
        Ok(self.identity(settings, binary_sha256))
    }

    /// The identity of a server that somebody else runs: what it says over HTTP, and that no more is known.
    pub(super) fn ask_attached(
        &self,
        http: &Http,
        attach: &Attach,
    ) -> Result<Identity, LaunchError> {
        let mut settings = self.over_http(http, &attach.model)?;
        if self.start.settings.production {
            self.check_production(&settings)?;
        }
        settings.insert("attached".to_owned(), attach.url.clone());
        Ok(self.identity(settings, String::new()))
    }

    /// Version, context and cache as the server answers them; the version must be the pinned one.
    fn over_http(&self, http: &Http, model: &str) -> Result<BTreeMap<String, String>, LaunchError> {
        let mut settings = BTreeMap::new();
        let version = http.get("version", "/version")?;
        let version = version.get("version").and_then(Value::as_str);
        let version = version.ok_or_else(|| self.start.silent("version", self.log))?;
        let pinned = &self.start.oracle.spec.declared.package.version;
        self.start.expect(self.log, "version", pinned, version)?;
        settings.insert("version".to_owned(), version.to_owned());
        let models = http.get("models", "/v1/models")?;
        let list = models.get("data").and_then(Value::as_array).into_iter().flatten();
        let mut served =
            list.filter(|entry| entry.get("id").and_then(Value::as_str) == Some(model));
        let served = served.next().ok_or_else(|| self.start.silent("served model", self.log))?;
        let context = served.get("max_model_len").and_then(Value::as_u64);
        let context = context.ok_or_else(|| self.start.silent("max_model_len", self.log))?;
        settings.insert("n_ctx".to_owned(), context.to_string());
        let metrics = http.get_bytes("metrics", "/metrics")?;
        settings.extend(super::said::cache(&String::from_utf8_lossy(&metrics)));
        Ok(settings)
    }

    fn check(&self, settings: &BTreeMap<String, String>) -> Result<(), LaunchError> {
        let asked = self.start.settings;
        let device = self.start.device();
        let mut expected = vec![
            ("n_ctx", asked.context.to_string()),
            ("max_num_seqs", asked.sequences.to_string()),
            ("dtype", asked.dtype.name().to_owned()),
            ("device_config", device.to_owned()),
        ];
        if device == "cpu" {
            expected.push(("n_threads", asked.threads.to_string()));
        }
        let declared = self.variant.expected(&self.launch.settings);
        expected.extend(declared.iter().map(|(key, value)| (key.as_str(), value.clone())));
        self.start.expect_each(self.log, settings, expected)
    }

    /// Compiled, not eager, and every choice of a backend said.
    fn check_production(&self, settings: &BTreeMap<String, String>) -> Result<(), LaunchError> {
        let found = |key: &str| settings.get(key).map_or(UNKNOWN, String::as_str);
        let refuse = |key: &str, expected: &str| LaunchError::NotProduction {
            oracle: self.start.name().to_owned(),
            key: key.to_owned(),
            expected: expected.to_owned(),
            found: found(key).to_owned(),
            log: self.log.to_path_buf(),
        };
        if found("enforce_eager") != "false" {
            return Err(refuse("enforce_eager", "false"));
        }
        if matches!(found("compilation_mode"), UNKNOWN | "NONE") {
            return Err(refuse("compilation_mode", "one that compiles"));
        }
        let on_gpu = self.start.oracle.spec.declared.device == Device::Cuda;
        if on_gpu && matches!(found("cudagraph_mode"), UNKNOWN | "NONE") {
            return Err(refuse("cudagraph_mode", "one that uses graphs"));
        }
        for key in ["attention_backend", "kv_cache_dtype", "enable_prefix_caching"] {
            if found(key) == UNKNOWN {
                return Err(refuse(key, "a value that it says"));
            }
        }
        Ok(())
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
