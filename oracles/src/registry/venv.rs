//! `[venv]`: an oracle that is installed from a lock of hashes, `oracles/registry/NAME.lock.txt`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::package::Package;
use crate::spec::{self, SpecError};

/// `[venv]`: wheels of a package index in a folder of their own, run by an interpreter of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Venv {
    /// The interpreter's exact minor version, `3.12`.
    pub python: String,
    /// Version of `uv`, which installs.
    pub tools: BTreeMap<String, String>,
    /// Distributions that the interpreter brings itself, `NAME = "VERSION"`; it is then not cut off from its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub host: BTreeMap<String, String>,
    /// Globs of installed files that are removed again, because nothing that is asked of the oracle uses them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<String>,
}

impl Venv {
    pub(super) fn check(&self, path: &Path) -> Result<(), SpecError> {
        let mut parts = self.python.split('.').map(|part| part.parse::<u16>().is_ok());
        if (parts.next(), parts.next(), parts.next()) != (Some(true), Some(true), None) {
            let found = format!("{:?}", self.python);
            return Err(SpecError::value(path, "venv.python", "MAJOR.MINOR", &found));
        }
        if self.tools.keys().ne(["uv"]) {
            let found = format!("{:?}", self.tools.keys().collect::<Vec<_>>());
            return Err(SpecError::value(path, "venv.tools", "a version of uv alone", &found));
        }
        spec::check_tools(path, "venv.tools", &self.tools)?;
        spec::check_tools(path, "venv.host", &self.host)
    }
}

/// One requirement of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locked {
    /// The distribution's name.
    pub name: String,
    /// Its exact version.
    pub version: String,
    /// sha256 of every archive that may be installed for it.
    pub hashes: Vec<String>,
}

/// `NAME.lock.txt`: what is installed, to the byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Its requirements.
    pub entries: Vec<Locked>,
}

impl Lock {
    /// Reads the lock beside the registry file `spec`; refuses a requirement without an exact version or without a hash,
    /// and a lock that does not install the pinned `package`.
    pub(super) fn read(spec: &Path, package: &Package) -> Result<Self, SpecError> {
        let path = spec.with_extension("lock.txt");
        let text = std::fs::read_to_string(&path)
            .map_err(|source| SpecError::Read { path: path.clone(), source })?;
        let entries = entries(&path, &text)?;
        let pinned = entries.iter().any(|entry| {
            entry.name == package.name
                && entry.version == package.version
                && entry.hashes.contains(&package.archive_sha256)
        });
        if !pinned {
            let expected = format!("{} in {}", package.requirement(), path.display());
            return Err(SpecError::value(
                spec,
                "package",
                &expected,
                "no such requirement and hash",
            ));
        }
        Ok(Self { path, text, entries })
    }
}

/// The requirements of a lock as pip and uv read them: `name==version` and its `--hash` options, lines joined by `\`.
fn entries(path: &Path, text: &str) -> Result<Vec<Locked>, SpecError> {
    let refuse = |line: usize, expected: &str, found: &str| SpecError::Parse {
        path: path.to_path_buf(),
        message: format!("line {line}: expected {expected}, found {found:?}"),
    };
    let mut entries = Vec::new();
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    while let Some((number, first)) = lines.next() {
        if first.is_empty() || first.starts_with('#') {
            continue;
        }
        let mut words: Vec<&str> = first.trim_end_matches('\\').split_whitespace().collect();
        let mut last = first;
        while last.ends_with('\\') {
            let Some((_, next)) = lines.next() else {
                return Err(refuse(number, "a line after `\\`", "the end"));
            };
            words.extend(next.trim_end_matches('\\').split_whitespace());
            last = next;
        }
        let (name, version) = words[0]
            .split_once("==")
            .filter(|(name, version)| spec::is_plain(name) && spec::is_plain(version))
            .ok_or_else(|| refuse(number, "NAME==VERSION", words[0]))?;
        let hashes = words[1..]
            .iter()
            .map(|word| {
                let sha256 = word.strip_prefix("--hash=sha256:");
                sha256
                    .filter(|sha256| crate::digest::is_sha256(sha256))
                    .map(str::to_owned)
                    .ok_or_else(|| refuse(number, "--hash=sha256:...", word))
            })
            .collect::<Result<Vec<_>, _>>()?;
        if hashes.is_empty() {
            return Err(refuse(number, "a hash", first));
        }
        entries.push(Locked { name: name.to_owned(), version: version.to_owned(), hashes });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn requirements_with_hashes_are_read() {
        let text = format!(
            "# made by\na==1.0 \\\n    --hash=sha256:{A} \\\n    --hash=sha256:{A}\n    # via b\nb-c==2 --hash=sha256:{A}\n"
        );
        let read = entries(Path::new("l"), &text).unwrap();
        let found: Vec<_> =
            read.iter().map(|e| (e.name.as_str(), e.version.as_str(), e.hashes.len())).collect();
        assert_eq!(found, [("a", "1.0", 2), ("b-c", "2", 1)]);
    }

    #[test]
    fn what_is_not_pinned_is_refused_with_its_line() {
        let cases = [
            ("\na>=1 --hash=sha256:00".to_owned(), "line 2: expected NAME==VERSION"),
            ("a==1".to_owned(), "line 1: expected a hash"),
            ("a==1 --hash=md5:00".to_owned(), "line 1: expected --hash=sha256"),
            ("-e .".to_owned(), "line 1: expected NAME==VERSION"),
            ("--index-url==x".to_owned(), "line 1: expected NAME==VERSION"),
            (format!("a==1 --hash=sha256:{A} \\"), "line 1: expected a line after"),
        ];
        for (text, expected) in cases {
            let error = entries(Path::new("l"), &text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }
}
