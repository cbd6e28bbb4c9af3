//! Putting files in place: whole or not at all, with the errors a person can act on.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::Progress;

/// The file system refused.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// No room.
    #[error("cannot {action} {path}: the disk is full; free space or give another --cache", path = .path.display())]
    DiskFull {
        /// `write`, `create` ...
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// No permission.
    #[error("cannot {action} {path}: not permitted; give a --cache that you may write", path = .path.display())]
    Denied {
        /// `write`, `create` ...
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Anything else.
    #[error("cannot {action} {path}", path = .path.display())]
    Io {
        /// `write`, `create` ...
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl PlaceError {
    /// The variant that fits `source`.
    pub(crate) fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Self::DiskFull { action, path, source }
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Self::Denied { action, path, source }
            }
            _ => Self::Io { action, path, source },
        }
    }
}

/// Creates `dir` and its parents.
pub(crate) fn create_dir(dir: &Path) -> Result<(), PlaceError> {
    fs::create_dir_all(dir).map_err(|source| PlaceError::new("create", dir, source))
}

/// Renames; both ends are on one file system.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), PlaceError> {
    fs::rename(from, to).map_err(|source| PlaceError::new("place", to, source))
}

/// Writes `bytes` to `path` by way of a temporary file beside it.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), PlaceError> {
    let fail = |source| PlaceError::new("write", path, source);
    let dir = path.parent().unwrap_or(Path::new("."));
    create_dir(dir)?;
    let mut file = temporary(dir).map_err(fail)?;
    io::Write::write_all(&mut file, bytes).map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    Ok(())
}

/// A temporary file in `dir` that others may read once it is in place.
pub(crate) fn temporary(dir: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o644)).tempfile_in(dir)
}

/// Moves a file that failed its check to where it can be looked at and is never used:
/// `NAME.refused` beside it. The newest one is kept.
pub(crate) fn set_aside(path: &Path) -> Result<PathBuf, PlaceError> {
    let aside = beside(path, ".refused");
    rename(path, &aside)?;
    Ok(aside)
}

/// The path beside `path` with `suffix` added to its name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(suffix);
    path.with_file_name(name)
}

/// Removes a file or a folder; that there is none is fine.
pub(crate) fn remove(path: &Path) -> Result<(), PlaceError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(PlaceError::new("remove", path, error))
        }
        _ => Ok(()),
    }
}

/// An exclusive lock between processes; released when dropped, and by the system at a death.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl Lock {
    /// Waits for the lock of `thing`, a path that need not exist: the lock is `THING.lock`.
    pub(crate) fn acquire(thing: &Path, progress: Progress) -> Result<Self, PlaceError> {
        let path = beside(thing, ".lock");
        if let Some(dir) = path.parent() {
            create_dir(dir)?;
        }
        let fail = |source| PlaceError::new("lock", &path, source);
        let file = File::options().create(true).append(true).open(&path).map_err(fail)?;
        if file.try_lock().is_err() {
            progress.note(&format!("waiting for another process: {}", path.display()));
            file.lock().map_err(fail)?;
        }
        Ok(Self(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_forbidden_folder_have_names() {
        let named = |kind| PlaceError::new("write", Path::new("f"), io::Error::from(kind));
        assert!(matches!(named(ErrorKind::StorageFull), PlaceError::DiskFull { .. }));
        assert!(matches!(named(ErrorKind::QuotaExceeded), PlaceError::DiskFull { .. }));
        assert!(matches!(named(ErrorKind::PermissionDenied), PlaceError::Denied { .. }));
        assert!(matches!(named(ErrorKind::ReadOnlyFilesystem), PlaceError::Denied { .. }));
        assert!(matches!(named(ErrorKind::NotFound), PlaceError::Io { .. }));
    }

    /// The device that is always full is a real ENOSPC.
    #[test]
    fn a_write_to_the_full_device_is_a_full_disk() {
        let Ok(mut file) = File::options().write(true).open("/dev/full") else { return };
        let error = io::Write::write_all(&mut file, b"x").unwrap_err();
        let error = PlaceError::new("write", Path::new("/dev/full"), error);
        assert!(matches!(error, PlaceError::DiskFull { .. }), "{error}");
    }

    #[test]
    fn a_file_appears_whole_with_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        write_whole(&path, b"1").unwrap();
        write_whole(&path, b"22").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"22");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
