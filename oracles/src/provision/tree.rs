//! Trees of installed files: which there are, and their digests, several at a time.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::step::workers;
use crate::Progress;
use crate::digest::sha256_file;
use crate::place::PlaceError;

/// Every file under `dir`, sorted; links are not followed, and count as files.
pub(super) fn files_under(dir: &Path) -> Result<Vec<PathBuf>, PlaceError> {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        let read = |error| PlaceError::new("read", &dir, error);
        for entry in fs::read_dir(&dir).map_err(read)? {
            let entry = entry.map_err(read)?;
            if entry.file_type().map_err(read)?.is_dir() {
                dirs.push(entry.path());
            } else {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Digest and size of each of `paths`, in their order; `None` for one that is not there.
pub(super) fn hashed(
    paths: &[PathBuf],
    label: &str,
    progress: Progress,
) -> Result<Vec<Option<(String, u64)>>, PlaceError> {
    let stage = Mutex::new(progress.steps(label, Some(paths.len() as u64)));
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = paths.get(index) else { return Ok(done) };
            match sha256_file(path) {
                Ok(found) => done.push((index, found)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(PlaceError::new("read", path, error)),
            }
            if let Ok(mut stage) = stage.lock() {
                stage.advance(1);
            }
        }
    };
    let parts: Vec<Result<_, PlaceError>> = thread::scope(|scope| {
        let handles: Vec<_> = (0..workers()).map(|_| scope.spawn(work)).collect();
        // A panic of a worker is a panic here.
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
            .collect()
    });
    let mut found = vec![None; paths.len()];
    for part in parts {
        for (index, digest) in part? {
            found[index] = Some(digest);
        }
    }
    Ok(found)
}
