//! Pinned oracles: `oracles/registry/NAME.toml`, the only place an oracle's pin is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::package::Package;
use crate::spec::{self, SpecError};
use crate::{Home, Result};

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
    /// The commit that the source names as its own.
    pub commit: Option<Commit>,
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

/// `[build.commit]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// 40 hexadecimal digits.
    pub sha: String,
    /// The file of the archive that names it.
    pub file: String,
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
        Ok(Self::parse(name, &path, &text)?)
    }

    /// `text` of `path` as the oracle `name`.
    pub(crate) fn parse(name: &str, path: &Path, text: &str) -> Result<Self, SpecError> {
        let declared: Declared = spec::parse(path, text)?;
        declared.check(path)?;
        Ok(Self { name: name.to_owned(), path: path.to_path_buf(), declared })
    }
}

impl Declared {
    fn check(&self, path: &Path) -> Result<(), SpecError> {
        let refuse = |key: &str, expected: &str, found: &str| {
            Err(SpecError::value(path, key, expected, found))
        };
        self.package.check(path, "package")?;
        match (&self.gateable.answer, &self.gateable.evidence, &self.gateable.debt) {
            (Answer::Yes, Some(_), None) | (Answer::No, None, Some(_)) => {}
            (Answer::Yes, ..) => {
                return refuse("gateable", "evidence and no debt with yes", "other");
            }
            (Answer::No, ..) => return refuse("gateable", "debt and no evidence with no", "other"),
        }
        if let Some(build) = &self.build {
            build.check(path)?;
        }
        if let Some(launch) = &self.launch {
            let targets = self.build.as_ref().map_or(&[][..], |build| &build.targets);
            if !targets.contains(&launch.executable) {
                let found = format!("{:?}", launch.executable);
                return refuse("launch.executable", "one of build.targets", &found);
            }
        }
        Ok(())
    }
}

impl Build {
    fn check(&self, path: &Path) -> Result<(), SpecError> {
        spec::check_inner_path(path, "build.source", &self.source)?;
        if let Some(commit) = &self.commit {
            spec::check_inner_path(path, "build.commit.file", &commit.file)?;
        }
        if self.targets.is_empty() {
            return Err(SpecError::value(path, "build.targets", "at least one", "none"));
        }
        for target in &self.targets {
            spec::check_inner_path(path, "build.targets", target)?;
        }
        let plain = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphanumeric())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c))
        };
        for (tool, version) in &self.tools {
            if !(plain(tool) && plain(version)) {
                let key = format!("build.tools.{tool}");
                return Err(SpecError::value(path, &key, "an exact version", version));
            }
        }
        Ok(())
    }
}
