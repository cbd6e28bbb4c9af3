//! Pinned oracles: `oracles/registry/NAME.toml`, the only place an oracle's pin is written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::package::Package;
use crate::{Home, Result, spec};

/// A declared oracle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OracleSpec {
    /// The file's stem.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What the file says.
    pub declared: Declared,
}

/// The contents of a registry file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Declared {
    /// One sentence on what it is.
    pub summary: String,
    /// SPDX licence of its source.
    pub licence: String,
    /// Its place among the oracles, in a sentence.
    pub role: String,
    /// The questions it may answer.
    pub scope: Vec<Scope>,
    /// Whether a gate may be judged by it.
    pub gateable: Gateable,
    /// Its source package.
    pub package: Package,
    /// How it is built; an oracle without it cannot be provisioned.
    pub build: Option<Build>,
    /// How it is launched; an oracle without it cannot be launched.
    pub launch: Option<LaunchSpec>,
}

/// A question an oracle may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Ids of a text and text of ids.
    Tokenizer,
    /// Rendering of conversations.
    ChatTemplate,
    /// Greedy ids.
    Tokens,
    /// Log-probabilities of a step.
    Logprobs,
    /// Time and memory, as a floor for ours.
    Speed,
}

/// `[gateable]`: "built and ran a model, shown", or the debt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Gateable {
    /// `yes` or `no`.
    pub answer: Answer,
    /// With `yes`: where it is shown, a path from the workspace's root.
    pub evidence: Option<PathBuf>,
    /// With `no`: what is owed.
    pub debt: Option<String>,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It may judge.
    Yes,
    /// It may not yet.
    No,
}

/// `[build]`: a CMake build with Ninja.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Build {
    /// The source tree inside the archive.
    pub source: String,
    /// `-DKEY=VALUE` of the configuration.
    pub definitions: BTreeMap<String, String>,
    /// The targets, each an executable under `bin/` of the build folder.
    pub targets: Vec<String>,
    /// Files of the source tree that are installed beside the executables, as globs.
    pub files: Vec<String>,
    /// Versions of `cmake` and `ninja` that are installed from the package index where the
    /// environment's `PATH` has none.
    pub tools: BTreeMap<String, String>,
    /// The whole environment of the build.
    pub environment: BTreeMap<String, String>,
}

/// `[launch]`: the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LaunchSpec {
    /// The server's executable among the targets.
    pub executable: String,
    /// Arguments of every launch.
    pub arguments: Vec<String>,
    /// The whole environment of the process.
    pub environment: BTreeMap<String, String>,
    /// CPU features its start-up line must list, no more and no less.
    pub cpu_features: Vec<String>,
}

/// The declared oracles' names.
pub fn names(home: &Home) -> Result<Vec<String>> {
    Ok(spec::names(&home.registry_dir())?)
}

impl OracleSpec {
    /// Reads `oracles/registry/NAME.toml`.
    pub fn load(home: &Home, name: &str) -> Result<Self> {
        let (path, text) = spec::read("oracle", &home.registry_dir(), name)?;
        let declared: Declared = spec::parse(&path, &text)?;
        Ok(Self { name: name.to_owned(), path, declared })
    }
}
