//! The bytes of one checkpoint file, mapped read-only.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::error::Error;

/// One file's bytes and the path that every error about them names.
///
/// # Hazard
/// A mapped file must not be truncated or rewritten while it is open: the kernel then answers a read
/// past the new end with SIGBUS, and the process dies. No user-space check can close that window, so
/// checkpoints are replaced by renaming a new file over the old name, which leaves the mapping intact.
#[derive(Debug)]
pub struct FileBytes {
    path: PathBuf,
    storage: Storage,
}

#[derive(Debug)]
enum Storage {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl FileBytes {
    /// Maps the regular file at `path`. Pages are read when they are first touched.
    pub fn map(path: &Path) -> Result<Self, Error> {
        let io = |action| move |source| Error::Io { action, path: path.to_path_buf(), source };
        // Asked before opening: opening a FIFO would wait for a writer.
        if !fs::metadata(path).map_err(io("find"))?.is_file() {
            return Err(Error::NotAFile { path: path.to_path_buf() });
        }
        let file = File::open(path).map_err(io("open"))?;
        let mapped = map_read_only(&file).map_err(io("map"))?;
        Ok(Self { path: path.to_path_buf(), storage: Storage::Mapped(mapped) })
    }

    /// Takes bytes that are already in memory, under the name `path`.
    pub fn from_vec(path: impl Into<PathBuf>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), storage: Storage::Owned(bytes) }
    }

    /// The path that errors name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        match &self.storage {
            Storage::Mapped(mapped) => mapped,
            Storage::Owned(bytes) => bytes,
        }
    }

    /// The length of the file in bytes.
    pub fn len(&self) -> u64 {
        self.bytes().len() as u64
    }

    /// Whether the file has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }
}

#[expect(
    unsafe_code,
    reason = "the one mapping of the engine: weights are not copied into the heap"
)]
fn map_read_only(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the mapping is private and read-only, and every access goes through the slice's bounds.
    // What remains is that another process may change the file underneath: see `FileBytes`' hazard.
    unsafe { Mmap::map(file) }
}
