//! The digest of the engine's own sources: the name by which a record says what code it judged.
//!
//! A commit id would not do: it changes with every page and record that is committed, and says nothing of an edited working
//! tree. This digest covers exactly what decides the engine's bits and nothing else: `src/`, `build.rs` and `Cargo.toml` of
//! `engine/` and `kernels/`, and what concerns the two in the workspace's `Cargo.toml` and `Cargo.lock`. Tests, benches, fuzz targets and snapshots do not count.
//!
//! This file uses `std` and `sha2` alone, because `engine/build.rs` includes it by path and embeds the digest in `plumb`.
#![allow(unreachable_pub, reason = "engine/build.rs includes this file as a private module")]

use std::fmt::{self, Write as _};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

#[path = "dependencies.rs"]
mod dependencies;

use dependencies::Closure;

/// The crates whose sources decide what the subject computes.
const CRATES: [&str; 2] = ["engine", "kernels"];
/// The workspace's own files.
const LOCK: &str = "Cargo.lock";
const MANIFEST: &str = "Cargo.toml";
/// What counts inside such a crate.
const PARTS: [&str; 3] = ["src", "build.rs", "Cargo.toml"];
/// What decides how everything is compiled, where it is there.
const COMPILER: [&str; 4] =
    [".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain"];
/// Expectations of tests, which are no code.
const SNAPSHOT: &str = ".snap";

/// A source file that could not be read.
#[derive(Debug)]
pub struct SourceDigestError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the operating system said.
    pub source: io::Error,
}

impl fmt::Display for SourceDigestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cannot read {} for the source digest", self.path.display())
    }
}

impl std::error::Error for SourceDigestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// SHA-256 over the sorted sources below the workspace root, as 64 lowercase hexadecimal digits.
///
/// Each file enters as its relative path and its bytes, both preceded by their length (u64, little endian), so that no two
/// different trees give the same input.
///
/// Of the lock file and the workspace's manifest only what concerns these crates enters.
pub fn source_digest(root: &Path) -> Result<String, SourceDigestError> {
    digest(root, &source_files(root)?, &CRATES)
}

/// The digest of these files, whose paths are relative to the root, for these crates.
pub(crate) fn digest(
    root: &Path,
    files: &[String],
    crates: &[&str],
) -> Result<String, SourceDigestError> {
    let lock = root.join(LOCK);
    let lock = fs::read_to_string(&lock).map_err(|source| at(&lock, source))?;
    let closure = Closure::of(&lock, crates);
    let mut hash = Sha256::new();
    for path in files {
        let bytes = fs::read(root.join(path)).map_err(|source| at(&root.join(path), source))?;
        let bytes = match path.as_str() {
            LOCK => closure.lock(&lock).into_bytes(),
            MANIFEST => closure.manifest(&String::from_utf8_lossy(&bytes)).into_bytes(),
            _ => bytes,
        };
        hash.update((path.len() as u64).to_le_bytes());
        hash.update(path.as_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    let mut text = String::with_capacity(64);
    for byte in hash.finalize() {
        write!(text, "{byte:02x}").map_err(|_| at(root, io::ErrorKind::OutOfMemory.into()))?;
    }
    Ok(text)
}

/// The files that [`source_digest`] covers: relative to the root, with `/`, sorted by bytes.
pub fn source_files(root: &Path) -> Result<Vec<String>, SourceDigestError> {
    files(root, &CRATES)
}

/// The workspace's files and those of these crates: relative to the root, with `/`, sorted by bytes.
pub(crate) fn files(root: &Path, crates: &[&str]) -> Result<Vec<String>, SourceDigestError> {
    let mut files = vec![LOCK.to_owned(), MANIFEST.to_owned()];
    files.extend(COMPILER.into_iter().filter(|path| root.join(path).exists()).map(str::to_owned));
    for name in crates {
        for part in PARTS {
            let path = root.join(name).join(part);
            // A crate need not have a build script; everything else must be there.
            if part == "build.rs" && !path.exists() {
                continue;
            }
            collect(&path, &format!("{name}/{part}"), &mut files)?;
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Adds `path`, or every file below it, under its relative name.
fn collect(path: &Path, name: &str, files: &mut Vec<String>) -> Result<(), SourceDigestError> {
    let kind = fs::symlink_metadata(path).map_err(|source| at(path, source))?.file_type();
    if kind.is_file() {
        files.push(name.to_owned());
        return Ok(());
    }
    if !kind.is_dir() {
        let message = "neither a file nor a folder: sources must not be links";
        return Err(at(path, io::Error::new(io::ErrorKind::InvalidInput, message)));
    }
    for entry in fs::read_dir(path).map_err(|source| at(path, source))? {
        let entry = entry.map_err(|source| at(path, source))?;
        let child = entry.file_name();
        let Some(child) = child.to_str() else {
            let message = "the name is not UTF-8";
            return Err(at(&entry.path(), io::Error::new(io::ErrorKind::InvalidInput, message)));
        };
        if !child.ends_with(SNAPSHOT) {
            collect(&entry.path(), &format!("{name}/{child}"), files)?;
        }
    }
    Ok(())
}

fn at(path: &Path, source: io::Error) -> SourceDigestError {
    SourceDigestError { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("Cargo.lock", "lock"),
            ("Cargo.toml", "w"),
            ("engine/Cargo.toml", "e"),
            ("engine/build.rs", "b"),
            ("engine/src/lib.rs", "l"),
            ("engine/src/models/llama.rs", "m"),
            ("kernels/Cargo.toml", "k"),
            ("kernels/src/lib.rs", "l"),
        ] {
            write(root.path(), path, text);
        }
        root
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn covers_sources_in_byte_order() {
        let root = tree();
        assert_eq!(
            source_files(root.path()).unwrap(),
            [
                "Cargo.lock",
                "Cargo.toml",
                "engine/Cargo.toml",
                "engine/build.rs",
                "engine/src/lib.rs",
                "engine/src/models/llama.rs",
                "kernels/Cargo.toml",
                "kernels/src/lib.rs",
            ]
        );
    }

    /// The expected value was computed with Python's hashlib over the same length-prefixed stream.
    #[test]
    fn matches_an_independent_implementation() {
        let expected = "e53b79d2f4336eee32a3427e31fbe76a991c630b5489ff18856d63db76177bab";
        assert_eq!(source_digest(tree().path()).unwrap(), expected);
    }

    #[test]
    fn changes_with_content_and_with_names_only_of_sources() {
        let root = tree();
        let before = source_digest(root.path()).unwrap();
        for path in ["engine/tests/t.rs", "engine/src/a.snap", "kernels/benches/b.rs", "README.md"]
        {
            write(root.path(), path, "x");
            assert_eq!(source_digest(root.path()).unwrap(), before, "{path} is not a source");
        }
        write(root.path(), "kernels/src/lib.rs", "L");
        let edited = source_digest(root.path()).unwrap();
        assert_ne!(edited, before);
        fs::rename(root.path().join("kernels/src/lib.rs"), root.path().join("kernels/src/mod.rs"))
            .unwrap();
        assert_ne!(source_digest(root.path()).unwrap(), edited);
    }

    #[test]
    fn names_what_is_missing() {
        let root = tree();
        fs::remove_file(root.path().join("engine/Cargo.toml")).unwrap();
        let error = source_digest(root.path()).unwrap_err();
        assert!(error.path.ends_with("engine/Cargo.toml"), "{error}");
    }
}
