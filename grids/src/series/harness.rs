//! The program that conducts a series: `FOLDER/harness.sha256`, the digest of its bytes. The load generator is part of what is measured,
//! so that a series that one program began is not gone on with by another.

use std::path::Path;

use super::state::{StateError, failed, publish};

/// SHA-256 of the bytes of this very process, even where its file was replaced meanwhile.
pub fn own() -> Result<String, StateError> {
    let path = Path::new("/proc/self/exe");
    records::sha256_file(path).map_err(failed("read", path))
}

/// Keeps which program began the series in `folder`, or holds it against the one that did.
pub fn keep(folder: &Path, sha256: &str) -> Result<(), StateError> {
    let path = folder.join("harness.sha256");
    let is_begun = folder.join("plan.json").exists();
    let found = match read(folder)? {
        Some(found) => found,
        // Begun by a program that did not say which it was.
        None if is_begun => "unknown".to_owned(),
        None => {
            publish(&path, format!("{sha256}\n").as_bytes())?;
            read(folder)?.unwrap_or_default()
        }
    };
    if found == sha256 {
        return Ok(());
    }
    Err(StateError::OtherHarness { path, expected: sha256.to_owned(), found })
}

/// Which program began the series, where it said so.
pub fn read(folder: &Path) -> Result<Option<String>, StateError> {
    let path = folder.join("harness.sha256");
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(failed("read", &path)(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_program_does_not_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let own = own().unwrap();
        assert_eq!(own.len(), 64);
        assert_eq!(read(folder.path()).unwrap(), None);
        keep(folder.path(), &own).unwrap();
        keep(folder.path(), &own).unwrap();
        let refused = keep(folder.path(), "other").unwrap_err();
        assert!(matches!(refused, StateError::OtherHarness { .. }), "{refused}");
        let unnamed = tempfile::tempdir().unwrap();
        std::fs::write(unnamed.path().join("plan.json"), "").unwrap();
        assert!(keep(unnamed.path(), &own).is_err(), "nobody knows who began it");
    }
}
