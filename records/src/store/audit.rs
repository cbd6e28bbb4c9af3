//! Looking at everything: each record, each piece of evidence once, and what writers left behind.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::error::io_error;
use super::read::{on_all_cores, read_files};
use super::{DRAFT_PREFIX, Kept, Store, StoreError};
use crate::record::Evidence;

/// A draft that nobody holds may be one whose writer has made it and not locked it yet; one of this age is not.
const BEGINNING: Duration = Duration::from_secs(2);

/// What was found in a store.
#[derive(Debug, Default)]
pub struct Audit {
    /// The records that are whole, oldest first.
    pub records: Vec<Kept>,
    /// Files that are damaged.
    pub defects: Vec<StoreError>,
    /// Evidence that is kept outside the store and is not on this machine. It is neither whole nor damaged.
    pub absent: Vec<StoreError>,
    /// What writers that are no more have left.
    pub leftovers: Vec<Leftover>,
}

/// A hidden file whose writer is gone: a run that was interrupted and recorded nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: left by a process that is gone: {note}", .path.display())]
pub struct Leftover {
    /// The file.
    pub path: PathBuf,
    /// Its first line where it is text, else how long it is.
    pub note: String,
}

impl Store {
    /// Every defect of every record and of its evidence; empty when all is well and nothing is absent.
    pub fn verify(&self) -> Result<Vec<StoreError>, StoreError> {
        let Audit { mut defects, absent, .. } = self.audit()?;
        defects.extend(absent);
        Ok(defects)
    }

    /// Reads every record and checks all evidence, each file once however many records name it.
    pub fn audit(&self) -> Result<Audit, StoreError> {
        let files = self.run_files()?;
        let mut audit = Audit { leftovers: self.leftovers()?, ..Audit::default() };
        let mut evidence: BTreeMap<(PathBuf, String), (PathBuf, Evidence)> = BTreeMap::new();
        for (file, outcome) in files.iter().zip(read_files(&files)) {
            match outcome {
                Ok(kept) => {
                    for entry in &kept.record.evidence {
                        let key = (self.evidence_file(entry), entry.sha256.clone());
                        evidence.entry(key).or_insert_with(|| (file.clone(), entry.clone()));
                    }
                    audit.records.push(kept);
                }
                Err(defect) => audit.defects.push(defect),
            }
        }
        let evidence: Vec<(PathBuf, Evidence)> = evidence.into_values().collect();
        let check =
            |(record, entry): &(PathBuf, Evidence)| self.verify_evidence(record, entry).err();
        for defect in on_all_cores(&evidence, check).into_iter().flatten() {
            match defect {
                StoreError::Absent { .. } => audit.absent.push(defect),
                _ => audit.defects.push(defect),
            }
        }
        Ok(audit)
    }

    /// The drafts whose writers are gone, in the order of their paths.
    pub fn leftovers(&self) -> Result<Vec<Leftover>, StoreError> {
        let mut folders = vec![self.runs(), self.evidence_folder()];
        folders.extend(self.external.as_ref().map(|external| external.path().to_owned()));
        let mut found = Vec::new();
        for folder in folders.iter().filter(|folder| folder.exists()) {
            for entry in fs::read_dir(folder).map_err(io_error("list", folder))? {
                let entry = entry.map_err(io_error("list", folder))?;
                if entry.file_name().to_string_lossy().starts_with(DRAFT_PREFIX) {
                    found.extend(leftover(&entry.path())?);
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }
}

/// A draft, if its writer is gone.
fn leftover(path: &Path) -> Result<Option<Leftover>, StoreError> {
    let file = match File::open(path) {
        // It got its name, or was dropped, since the folder was listed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(io_error("read", path))?,
    };
    match file.try_lock_shared() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(io_error("lock", path)(error)),
    }
    let modified =
        file.metadata().and_then(|data| data.modified()).map_err(io_error("read", path))?;
    let age = SystemTime::now().duration_since(modified).unwrap_or_default();
    if age < BEGINNING || !path.exists() {
        return Ok(None);
    }
    let bytes = fs::read(path).map_err(io_error("read", path))?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let note = match std::str::from_utf8(line) {
        Ok(line) if !line.is_empty() && line.len() <= 200 => line.to_owned(),
        _ => format!("{} bytes", bytes.len()),
    };
    Ok(Some(Leftover { path: path.to_owned(), note }))
}
