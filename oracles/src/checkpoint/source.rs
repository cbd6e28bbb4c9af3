//! The sources a checkpoint's TOML may name, and what is refused in them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ConvertedSource, synthetic};
use crate::digest::sha256_bytes;
use crate::package::{Index, Package};
use crate::spec::{self, SpecError};

/// The file as it is written: one optional table a source, so that errors point at the key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Declared {
    pub(super) summary: String,
    pub(super) licence: String,
    package: Option<PackageTable>,
    hub: Option<HubSource>,
    local: Option<LocalSource>,
    synthetic: Option<SyntheticSource>,
    converted: Option<ConvertedSource>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PackageTable {
    index: Index,
    name: String,
    version: String,
    archive: String,
    archive_sha256: String,
    member: String,
    sha256: String,
    bytes: u64,
}

/// Where a checkpoint comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A file inside a package of a package index.
    Package(PackageSource),
    /// Files of a Hugging Face repository at a revision.
    Hub(HubSource),
    /// A file of this machine.
    Local(LocalSource),
    /// Random weights for an architecture, the same bytes everywhere.
    Synthetic(SyntheticSource),
    /// Another checkpoint in an oracle's own form.
    Converted(ConvertedSource),
}

/// `[package]`: a member of a package's archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageSource {
    /// The package and its archive.
    pub package: Package,
    /// Path inside the archive.
    pub member: String,
    /// sha256 of the member.
    pub sha256: String,
    /// Size of the member.
    pub bytes: u64,
}

/// `[hub]`: a repository at a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubSource {
    /// `owner/name`.
    pub repository: String,
    /// The commit, 40 hexadecimal digits.
    pub revision: String,
    /// The hub's address; the public hub when absent.
    pub endpoint: Option<String>,
    /// The files that make the checkpoint.
    pub file: Vec<HubFile>,
}

/// `[[hub.file]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubFile {
    /// Path inside the repository.
    pub path: String,
    /// sha256 of its bytes.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

/// `[local]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalSource {
    /// A file; relative to the workspace's root.
    pub path: PathBuf,
    /// sha256 of its bytes.
    pub sha256: String,
}

/// `[synthetic]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyntheticSource {
    /// The architecture in the keys of a Hugging Face `config.json`.
    pub config: serde_json::Map<String, serde_json::Value>,
    /// Seed of the generator.
    pub seed: u64,
    /// Standard deviation of the matrices' elements.
    pub std: f64,
    /// sha256 of `model.safetensors`.
    pub sha256: String,
}

impl Source {
    /// The digest that names the bytes.
    pub(super) fn pin(&self) -> String {
        match self {
            Self::Package(source) => source.sha256.clone(),
            Self::Hub(source) => source.digest(),
            Self::Local(source) => source.sha256.clone(),
            Self::Synthetic(source) => source.sha256.clone(),
            Self::Converted(source) => source.sha256.clone(),
        }
    }
}

impl HubSource {
    /// The file's own digest when there is one file, else the digest of the sorted lines
    /// `SHA256  PATH`.
    pub(super) fn digest(&self) -> String {
        if let [file] = self.file.as_slice() {
            return file.sha256.clone();
        }
        let mut lines: Vec<String> =
            self.file.iter().map(|file| format!("{}  {}\n", file.sha256, file.path)).collect();
        lines.sort();
        sha256_bytes(lines.concat().as_bytes())
    }

    fn check(&self, path: &Path) -> Result<(), SpecError> {
        let hex40 = self.revision.len() == 40
            && self.revision.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !hex40 {
            let expected = "a commit of 40 lowercase hexadecimal digits (a branch moves)";
            let found = format!("{:?}", self.revision);
            return Err(SpecError::value(path, "hub.revision", expected, &found));
        }
        let plain = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        };
        let parts: Vec<&str> = self.repository.split('/').collect();
        if parts.len() > 2 || !parts.iter().all(|part| plain(part)) {
            let found = format!("{:?}", self.repository);
            return Err(SpecError::value(path, "hub.repository", "owner/name", &found));
        }
        if self.file.is_empty() {
            return Err(SpecError::value(path, "hub.file", "at least one file", "none"));
        }
        for (index, file) in self.file.iter().enumerate() {
            spec::check_inner_path(path, &format!("hub.file[{index}].path"), &file.path)?;
            spec::check_sha256(path, &format!("hub.file[{index}].sha256"), &file.sha256)?;
            if self.file[..index].iter().any(|other| other.path == file.path) {
                let key = format!("hub.file[{index}].path");
                let found = format!("{:?} twice", file.path);
                return Err(SpecError::value(path, &key, "each path once", &found));
            }
        }
        Ok(())
    }
}

impl Declared {
    /// The one source, checked.
    pub(super) fn source(&self, path: &Path) -> Result<Source, SpecError> {
        let mut sources = Vec::new();
        if let Some(table) = &self.package {
            sources.push(("package", Source::Package(table.source(path)?)));
        }
        if let Some(hub) = &self.hub {
            hub.check(path)?;
            sources.push(("hub", Source::Hub(hub.clone())));
        }
        if let Some(local) = &self.local {
            spec::check_sha256(path, "local.sha256", &local.sha256)?;
            sources.push(("local", Source::Local(local.clone())));
        }
        if let Some(synthetic) = &self.synthetic {
            spec::check_sha256(path, "synthetic.sha256", &synthetic.sha256)?;
            synthetic::check(path, synthetic)?;
            sources.push(("synthetic", Source::Synthetic(synthetic.clone())));
        }
        if let Some(converted) = &self.converted {
            converted.check(path)?;
            sources.push(("converted", Source::Converted(converted.clone())));
        }
        if let [(_, source)] = sources.as_slice() {
            return Ok(source.clone());
        }
        let found: Vec<&str> = sources.iter().map(|(table, _)| *table).collect();
        let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
        let expected = "exactly one of [package], [hub], [local], [synthetic], [converted]";
        Err(SpecError::value(path, "(top level)", expected, &found))
    }
}

impl PackageTable {
    fn source(&self, path: &Path) -> Result<PackageSource, SpecError> {
        let table = self.clone();
        let package = Package {
            index: table.index,
            name: table.name,
            version: table.version,
            archive: table.archive,
            archive_sha256: table.archive_sha256,
        };
        package.check(path, "package")?;
        spec::check_inner_path(path, "package.member", &table.member)?;
        spec::check_sha256(path, "package.sha256", &table.sha256)?;
        Ok(PackageSource {
            package,
            member: table.member,
            sha256: table.sha256,
            bytes: table.bytes,
        })
    }
}
