//! Pinned oracles: `oracles/registry/NAME.toml`, the only place an oracle's pin is written.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::package::{Index, Package};
use crate::spec::{self, SpecError};
use crate::{Home, Result};

mod build;
mod container;
mod definition;
mod launch;
mod venv;

pub use build::{Build, Commit};
pub use container::{Attach, Container, Engine};
pub use launch::{LaunchSpec, Protocol};
pub use venv::{Lock, Locked, Venv};

/// A declared oracle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OracleSpec {
    /// The file's stem.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What the file says.
    pub declared: Declared,
    /// Of a `[venv]`: the lock beside the file.
    pub lock: Option<Lock>,
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
    /// Where it computes.
    pub device: Device,
    /// What is pinned: the archive that makes it this oracle, whatever is installed around it.
    pub package: Package,
    /// Provisioned by building its source.
    pub build: Option<Build>,
    /// Provisioned by installing locked wheels.
    pub venv: Option<Venv>,
    /// Provisioned by pulling an image.
    pub container: Option<Container>,
    /// Not provisioned: it already runs.
    pub attach: Option<Attach>,
    /// How it is launched; an oracle without it cannot be launched.
    pub launch: Option<LaunchSpec>,
}

/// Where an oracle computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// On the processor.
    Cpu,
    /// On an NVIDIA GPU.
    Cuda,
}

/// How an oracle comes to be on this machine: the one provisioner table of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provisioner<'a> {
    /// `[build]`.
    Build(&'a Build),
    /// `[venv]`.
    Venv(&'a Venv),
    /// `[container]`.
    Container(&'a Container),
    /// `[attach]`.
    Attach(&'a Attach),
}

impl Provisioner<'_> {
    /// The table's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Build(_) => "build",
            Self::Venv(_) => "venv",
            Self::Container(_) => "container",
            Self::Attach(_) => "attach",
        }
    }
}

/// What a comparison with an oracle can be worth at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Its bytes are pinned and checked: a gate may pass or fail by it.
    Binding,
    /// Nobody knows what it is made of: DIRECTIONAL, whatever it answers.
    Directional,
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
        let lock = match &declared.venv {
            Some(_) => Some(Lock::read(path, &declared.package)?),
            None => None,
        };
        Ok(Self { name: name.to_owned(), path: path.to_path_buf(), declared, lock })
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
        let tables = self.tables();
        let [provisioner] = tables[..] else {
            let found: Vec<&str> = tables.iter().map(|table| table.name()).collect();
            let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
            return refuse("", "exactly one of [build], [venv], [container], [attach]", &found);
        };
        let index = match provisioner {
            Provisioner::Build(build) => build.check(path).map(|()| Index::Pypi),
            Provisioner::Venv(venv) => venv.check(path).map(|()| Index::Pypi),
            Provisioner::Container(container) => container.check(path).map(|()| Index::Oci),
            Provisioner::Attach(attach) => attach.check(path).map(|()| Index::None),
        }?;
        if self.package.index != index {
            let expected = format!("{index:?} with [{}]", provisioner.name()).to_lowercase();
            let found = format!("{:?}", self.package.index).to_lowercase();
            return refuse("package.index", &expected, &found);
        }
        if self.standing() == Standing::Directional && self.gateable.answer == Answer::Yes {
            return refuse("gateable.answer", "no with [attach], which never binds", "yes");
        }
        let targets = self.build.as_ref().map_or(&[][..], |build| &build.targets);
        self.launch.as_ref().map_or(Ok(()), |launch| launch.check(path, targets))
    }

    fn tables(&self) -> Vec<Provisioner<'_>> {
        let build = self.build.as_ref().map(Provisioner::Build);
        let venv = self.venv.as_ref().map(Provisioner::Venv);
        let container = self.container.as_ref().map(Provisioner::Container);
        let attach = self.attach.as_ref().map(Provisioner::Attach);
        [build, venv, container, attach].into_iter().flatten().collect()
    }

    /// How it comes to be here; `None` for a value that was not read from a registry file.
    pub fn provisioner(&self) -> Option<Provisioner<'_>> {
        self.tables().into_iter().next()
    }

    /// What a comparison with it can be worth at most. A gate must not say PASS by a directional oracle.
    pub fn standing(&self) -> Standing {
        if self.attach.is_some() { Standing::Directional } else { Standing::Binding }
    }
}
