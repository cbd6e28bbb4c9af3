//! Setting aside what was torn: moved, never removed, so that a person can look at it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::io_error;
use super::{DRAFT_PREFIX, Store, StoreError};

/// A file that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Where it lay.
    pub from: PathBuf,
    /// Where it lies now.
    pub to: PathBuf,
}

impl Store {
    /// Moves to `torn/` what a writer left half done: files of `runs/` that are no JSON, and drafts whose process is gone. A record
    /// that reads and does not fit its name was edited, not torn, and stays where it is.
    pub fn set_aside(&self) -> Result<Vec<Moved>, StoreError> {
        let audit = self.audit()?;
        let torn = audit.defects.iter().filter_map(|defect| match defect {
            StoreError::Json { path, .. } => Some(path.clone()),
            _ => None,
        });
        let files: Vec<PathBuf> =
            torn.chain(audit.leftovers.iter().map(|leftover| leftover.path.clone())).collect();
        let folder = self.dir.join("torn");
        if !files.is_empty() {
            fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
        }
        files.into_iter().map(|from| set_aside(&folder, from)).collect()
    }
}

/// Moves a file into a folder under a name of its own there: without the dot of a draft, with a number where the name is taken.
fn set_aside(folder: &Path, from: PathBuf) -> Result<Moved, StoreError> {
    let name = from.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default().replacen(DRAFT_PREFIX, "draft-", 1);
    let mut number = 1;
    loop {
        let to = match number {
            1 => folder.join(&name),
            _ => folder.join(format!("{name}.{number}")),
        };
        match place(&from, &to) {
            Ok(()) => return Ok(Moved { from, to }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(io_error("set aside", &from)(error)),
        }
    }
}

/// Gives a file another name without overwriting. From the folder for large evidence, which may be another disk, it is copied.
fn place(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            io::copy(&mut fs::File::open(from)?, &mut fs::File::create_new(to)?)?;
        }
        other => other?,
    }
    fs::remove_file(from)
}
