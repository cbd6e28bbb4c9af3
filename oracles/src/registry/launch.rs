//! `[launch]`: how an oracle is started and spoken to.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::spec::{self, SpecError};

/// `[launch]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LaunchSpec {
    /// How it is spoken to.
    pub protocol: Protocol,
    /// What is run: of `llama-server` an executable among the targets, of `driver` a script in `oracles/drivers/`, of
    /// `vllm` and `sglang` a Python module.
    pub executable: String,
    /// Arguments of every launch.
    pub arguments: Vec<String>,
    /// The whole environment of the process. Of a `[venv]` `{site}` is the installed tree and `{state}` a folder for
    /// what the process keeps.
    pub environment: BTreeMap<String, String>,
    /// CPU features it must say that it uses, no more and no less.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_features: Vec<String>,
    /// What it must say about its build.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub build: BTreeMap<String, String>,
    /// What it must say about its settings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// How an oracle is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// llama.cpp's HTTP server.
    LlamaServer,
    /// A script of ours that answers JSON lines on standard input and output.
    Driver,
    /// vLLM's HTTP server.
    Vllm,
    /// SGLang's HTTP server.
    Sglang,
}

impl Protocol {
    /// As a registry file names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::LlamaServer => "llama-server",
            Self::Driver => "driver",
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
        }
    }
}

impl LaunchSpec {
    pub(super) fn check(&self, path: &Path, targets: &[String]) -> Result<(), SpecError> {
        // What a protocol cannot read back must not look as if it were checked.
        let unread = match self.protocol {
            Protocol::LlamaServer => {
                [("build", !self.build.is_empty()), ("settings", !self.settings.is_empty())]
            }
            Protocol::Driver => [("", false), ("", false)],
            Protocol::Vllm | Protocol::Sglang => {
                [("build", !self.build.is_empty()), ("cpu-features", !self.cpu_features.is_empty())]
            }
        };
        if let Some((key, _)) = unread.into_iter().find(|(_, given)| *given) {
            let expected = format!("nothing: {} does not say it", self.protocol.name());
            return Err(SpecError::value(path, &format!("launch.{key}"), &expected, "something"));
        }
        match self.protocol {
            Protocol::LlamaServer if !targets.contains(&self.executable) => {
                let found = format!("{:?}", self.executable);
                Err(SpecError::value(path, "launch.executable", "one of build.targets", &found))
            }
            Protocol::Driver => spec::check_inner_path(path, "launch.executable", &self.executable),
            Protocol::LlamaServer | Protocol::Vllm | Protocol::Sglang => Ok(()),
        }
    }
}
