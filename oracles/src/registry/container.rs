//! `[container]` and `[attach]`: oracles that somebody else installed.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::spec::SpecError;

/// `[container]`: an image that a container engine of the machine runs. The image is the registry file's package:
/// its repository is the name, its digest the sha256.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Container {
    /// Engines in the order in which they are looked for on PATH.
    pub engines: Vec<Engine>,
    /// The image's interpreter, which runs the launch's executable as a module.
    pub interpreter: String,
}

/// A container engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Docker.
    Docker,
    /// Podman.
    Podman,
}

impl Engine {
    /// The name of its executable.
    pub fn program(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }
}

impl Container {
    pub(super) fn check(&self, path: &Path) -> Result<(), SpecError> {
        if self.engines.is_empty() {
            return Err(SpecError::value(path, "container.engines", "at least one", "none"));
        }
        Ok(())
    }
}

/// `[attach]`: a server that already runs. Nobody knows what it is made of, so it never binds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Attach {
    /// Where it answers, `http://HOST:PORT`.
    pub url: String,
    /// The name under which it serves the checkpoint.
    pub model: String,
}

impl Attach {
    pub(super) fn check(&self, path: &Path) -> Result<(), SpecError> {
        let authority =
            self.url.strip_prefix("http://").or_else(|| self.url.strip_prefix("https://"));
        match authority {
            Some(host) if !host.is_empty() && !host.contains('/') => Ok(()),
            _ => {
                let found = format!("{:?}", self.url);
                Err(SpecError::value(path, "attach.url", "http://HOST:PORT without a path", &found))
            }
        }
    }
}
