//! Where a checkpoint is put together: `DIR.partial` beside its folder, which gets its name only as a whole.

use std::fs;
use std::path::{Path, PathBuf};

use super::Checkpoint;
use crate::place::{self, PlaceError};

/// A folder in the making.
#[derive(Debug)]
pub(super) struct Staging {
    dir: PathBuf,
    partial: PathBuf,
}

impl Staging {
    /// The staging of `dir`, with what an earlier fetch left. A `dir` that is there is not whole, or nothing would be fetched: its
    /// files are taken over.
    pub(super) fn open(dir: &Path) -> Result<Self, PlaceError> {
        let partial = place::beside(dir, ".partial");
        if dir.exists() {
            place::remove(&partial)?;
            place::rename(dir, &partial)?;
        }
        place::create_dir(&partial)?;
        Ok(Self { dir: dir.to_path_buf(), partial })
    }

    /// Where to write.
    pub(super) fn path(&self) -> &Path {
        &self.partial
    }

    /// Gives the folder its name; `staged` is the checkpoint as it was verified in the staging.
    pub(super) fn finish(self, staged: Checkpoint) -> Result<Checkpoint, PlaceError> {
        place::rename(&self.partial, &self.dir)?;
        let inner = staged.path.strip_prefix(&self.partial).unwrap_or(Path::new(""));
        let path = if inner.as_os_str().is_empty() { self.dir } else { self.dir.join(inner) };
        Ok(Checkpoint { path, ..staged })
    }

    /// After a failure: files that a later fetch can go on from stay, folders without any go.
    pub(super) fn abandon(self) {
        remove_empty(&self.partial);
    }
}

/// Removes every folder at and below `dir` that holds no file. One that cannot be removed is not worth a second error.
fn remove_empty(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&entry.path());
        }
    }
    // Fails on a folder that holds something, which is how those stay.
    let _ = fs::remove_dir(dir);
}
