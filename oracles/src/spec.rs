//! Strict TOML: one file a pinned thing, unknown keys refused, errors that point at the line.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::de::DeserializeOwned;

/// A declared thing is missing or its file is not what it must be.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// There is no file of that name.
    #[error("no {kind} named {name}: expected {path}; there are: {known}", path = .path.display())]
    Unknown {
        /// `checkpoint` or `oracle`.
        kind: &'static str,
        /// The name that was asked for.
        name: String,
        /// The file it would have.
        path: PathBuf,
        /// The names there are.
        known: String,
    },
    /// The file cannot be read.
    #[error("cannot read {path}", path = .path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is not TOML, or a key is unknown, missing or of the wrong type.
    #[error("{path}: {message}", path = .path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The parser's message: line, column, the line itself and a caret under the place.
        message: String,
    },
    /// The file parses, and a value in it cannot be.
    #[error("{path}: key {key}: expected {expected}, found {found}", path = .path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The key, dotted from the top.
        key: String,
        /// What is allowed.
        expected: String,
        /// What is there.
        found: String,
    },
}

impl SpecError {
    /// A value that cannot be.
    pub(crate) fn value(path: &Path, key: &str, expected: &str, found: &str) -> Self {
        Self::Value {
            path: path.to_path_buf(),
            key: key.to_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
        }
    }
}

/// The names declared in `dir`: its `*.toml` files, sorted.
pub(crate) fn names(dir: &Path) -> Result<Vec<String>, SpecError> {
    let read = |source| SpecError::Read { path: dir.to_path_buf(), source };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.extension().is_some_and(|extension| extension == "toml")
            && let Some(stem) = path.file_stem().and_then(|stem| stem.to_str())
        {
            names.push(stem.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The path and the text of `dir/NAME.toml`.
pub(crate) fn read(
    kind: &'static str,
    dir: &Path,
    name: &str,
) -> Result<(PathBuf, String), SpecError> {
    let path = dir.join(format!("{name}.toml"));
    // A name is a file's stem and never a way out of the folder.
    if name.contains(['/', '\\']) || !path.is_file() {
        let known = names(dir)?.join(", ");
        return Err(SpecError::Unknown { kind, name: name.to_owned(), path, known });
    }
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path, text)),
        Err(source) => Err(SpecError::Read { path, source }),
    }
}

/// `text` of `path` as a `T`.
pub(crate) fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, SpecError> {
    toml::from_str(text).map_err(|error| SpecError::Parse {
        path: path.to_path_buf(),
        message: error.to_string().trim_end().to_owned(),
    })
}

/// Refuses a value that is not a sha256.
pub(crate) fn check_sha256(path: &Path, key: &str, value: &str) -> Result<(), SpecError> {
    if crate::digest::is_sha256(value) {
        return Ok(());
    }
    Err(SpecError::value(path, key, "64 lowercase hexadecimal digits", &format!("{value:?}")))
}

/// Refuses a path that could leave the folder it is joined to.
pub(crate) fn check_inner_path(path: &Path, key: &str, value: &str) -> Result<(), SpecError> {
    let inner = !value.is_empty()
        && !value.contains('\\')
        && Path::new(value).components().all(|part| matches!(part, Component::Normal(_)));
    if inner {
        return Ok(());
    }
    let expected = "a relative path without . or ..";
    Err(SpecError::value(path, key, expected, &format!("{value:?}")))
}

/// Whether `text` can be a name or a version of a package: never an option of a client, never a path.
pub(crate) fn is_plain(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c))
}

/// Refuses a tool whose name or version cannot be one.
pub(crate) fn check_tools(
    path: &Path,
    table: &str,
    tools: &BTreeMap<String, String>,
) -> Result<(), SpecError> {
    match tools.iter().find(|(tool, version)| !(is_plain(tool) && is_plain(version))) {
        Some((tool, version)) => {
            let key = format!("{table}.{tool}");
            Err(SpecError::value(path, &key, "an exact version", version))
        }
        None => Ok(()),
    }
}
