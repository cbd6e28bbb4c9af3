//! One series at a time on a machine: a lock on one file in a folder that every user can write to, held from the first server to the
//! last. Two locks that do not exclude each other would be none, so that the place is fixed.
//!
//! And one sitting at a time at a cell of a series, wherever it runs: a lock on `FOLDER/locks/CELL.lock` for each ([`Lock::cells`]).

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::plan::Cell;

/// The file that is locked.
pub const PLACE: &str = "/tmp/plumbline-series.lock";

/// The machine is ours until this is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

/// The machine is not ours.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else measures.
    #[error("somebody else is at work: {holder} ({path} is locked)")]
    Held {
        /// Who, by its own account.
        holder: String,
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be opened, locked or written.
    #[error("cannot {action} {path}")]
    Io {
        /// `create`, `open`, `lock` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl Lock {
    /// Takes the lock at `path` ([`PLACE`]), or says who holds it. `holder` is what others are told: the grid, the plan.
    pub fn take(path: &Path, holder: &str) -> Result<Self, LockError> {
        let failed = |action| {
            let path = path.to_owned();
            move |source| LockError::Io { action, path, source }
        };
        let mut file = open(path).map_err(failed("open"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let holder = match holder.trim() {
                    "" => "it does not say which".to_owned(),
                    named => named.to_owned(),
                };
                return Err(LockError::Held { holder, path: path.to_owned() });
            }
            Err(error) => return Err(failed("lock")(error.into())),
        }
        let lock = Self { file, path: path.to_owned() };
        lock.say(&format!("{holder}, process {}\n", std::process::id()))
            .map_err(failed("write"))?;
        Ok(lock)
    }

    /// Takes the locks of cells of the series in `folder`: all of them, or says who holds one.
    pub fn cells<'a>(
        folder: &Path,
        cells: impl IntoIterator<Item = &'a Cell>,
        holder: &str,
    ) -> Result<Vec<Self>, LockError> {
        let folder = folder.join("locks");
        std::fs::create_dir_all(&folder).map_err(|source| LockError::Io {
            action: "create",
            path: folder.clone(),
            source,
        })?;
        let take = |cell: &Cell| Self::take(&folder.join(format!("{}.lock", cell.id)), holder);
        cells.into_iter().map(take).collect()
    }

    /// Takes the lock as soon as it is free, asking every `poll`; `None` once `stop` is set.
    pub fn wait(
        path: &Path,
        holder: &str,
        poll: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<Self>, LockError> {
        while !stop.load(Ordering::SeqCst) {
            match Self::take(path, holder) {
                Err(LockError::Held { .. }) => std::thread::sleep(poll),
                taken => return taken.map(Some),
            }
        }
        Ok(None)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn say(&self, text: &str) -> std::io::Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())
    }
}

impl Drop for Lock {
    /// Unlocked by name: a child that is being started holds a copy of the file for a moment.
    fn drop(&mut self) {
        let _ = self.say("");
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// A kernel that protects regular files refuses to create what another user has in a sticky folder, but opens it.
fn open(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    use std::os::unix::fs::PermissionsExt;
    match File::options().read(true).write(true).open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut options = File::options();
            let file = options
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o666)
                .open(path)?;
            // The file mode mask may have narrowed it to us.
            file.set_permissions(std::fs::Permissions::from_mode(0o666))?;
            Ok(file)
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_the_holder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path, "grid cpu-sweep").unwrap();
        let refused = Lock::take(&path, "grid other").unwrap_err();
        let expected = format!("grid cpu-sweep, process {}", std::process::id());
        assert!(
            matches!(&refused, LockError::Held { holder, .. } if *holder == expected),
            "{refused}"
        );
        drop(first);
        let second = Lock::take(&path, "grid other").unwrap();
        assert_eq!(second.path(), path);
    }

    /// Two sittings of one series, with shares that overlap: the cell that both have is the first one's.
    #[test]
    fn a_cell_is_one_sittings() {
        let folder = tempfile::tempdir().unwrap();
        let cell = |concurrency| Cell { id: format!("c{concurrency}"), concurrency };
        let first = Lock::cells(folder.path(), &[cell(1), cell(8)], "share 0/2").unwrap();
        assert_eq!(first.len(), 2);
        let refused = Lock::cells(folder.path(), &[cell(2), cell(8)], "share 1/3").unwrap_err();
        assert!(refused.to_string().contains("share 0/2"), "{refused}");
        assert!(Lock::cells(folder.path(), &[cell(2)], "share 1/3").is_ok());
        drop(first);
        assert!(Lock::cells(folder.path(), &[cell(8)], "share 1/3").is_ok());
    }
}
