//! Evidence outside git: one folder of the machine that holds files by the SHA-256 of their bytes.

use std::path::PathBuf;

use super::StoreError;

/// The most bytes of an evidence file inside the store.
///
/// Git keeps every version of every file for ever and for everyone, and a campaign of ten thousand records with one file of this
/// size each is 10 GiB, which is about what a host still takes and a person still clones. The largest evidence of a gate so far
/// is 0.95 MB; raw samples of a sweep are tens of megabytes.
pub const EXTERNAL_BYTES: usize = 1024 * 1024;

/// A folder of evidence by content address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    folder: PathBuf,
}

impl External {
    /// A folder, which need not exist yet.
    pub fn folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// A folder by its path or its `file://` address.
    pub fn at(place: &str) -> Result<Self, StoreError> {
        match place.split_once("://") {
            None => Ok(Self::folder(place)),
            Some(("file", path)) if path.starts_with('/') => Ok(Self::folder(path)),
            Some(_) => Err(StoreError::Place { found: place.to_owned() }),
        }
    }

    /// Where the file of a digest lies.
    pub fn file(&self, sha256: &str) -> PathBuf {
        self.folder.join(sha256)
    }

    /// The folder.
    pub fn path(&self) -> &std::path::Path {
        &self.folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_folder_or_says_that_it_is_none() {
        for place in ["/var/evidence", "file:///var/evidence"] {
            assert_eq!(External::at(place).unwrap(), External::folder("/var/evidence"), "{place}");
        }
        for place in ["s3://bucket/evidence", "file://host/evidence"] {
            let error = External::at(place).unwrap_err();
            assert!(error.to_string().starts_with(place), "{error}");
        }
    }
}
