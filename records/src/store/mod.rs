//! The store: one run, one file, never edited.
//!
//! `runs/DATE-GATE-HASH.json` holds a record in canonical JSON; HASH is the start of the SHA-256 of that text without its `id`
//! line, so that a file's name gives away any change of its content. `evidence/` holds files by the SHA-256 of their bytes;
//! those larger than [`EXTERNAL_BYTES`] lie outside git, in a folder of the machine, and the record has the pointer.
//!
//! Every file is written under a hidden name, flushed to the disk, and then given its real name without overwriting. So there
//! is no half record, writers in several processes do not meet, and a draft that is dropped leaves nothing. A draft whose
//! process was killed stays; [`Store::audit`] tells it from one that is being written.

mod audit;
mod draft;
mod error;
mod external;
mod read;
mod torn;

pub use audit::{Audit, Leftover};
pub use draft::Draft;
pub use error::StoreError;
pub use external::{EXTERNAL_BYTES, External};
pub use read::{Kept, read_kept, read_record};
pub use torn::Moved;

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use crate::digest::{sha256_file, sha256_hex};
use crate::packed;
use crate::record::{Evidence, Record, is_gate_name};
use error::io_error;

/// Hidden names that a reader passes over.
const DRAFT_PREFIX: &str = ".draft-";
/// Digits of the hash in a file's name.
const HASH_DIGITS: usize = 12;

/// The folder `records/`, opened.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    external: Option<External>,
}

impl Store {
    /// Opens the folder, creating it where it is missing.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let store = Self { dir: dir.into(), external: None };
        for folder in [store.runs(), store.evidence_folder()] {
            fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
        }
        Ok(store)
    }

    /// The same store, with a place for evidence that is too large for git. Without one everything is kept inside.
    #[must_use]
    pub fn with_external(self, external: External) -> Self {
        Self { external: Some(external), ..self }
    }

    /// The place for evidence that is too large for git, where there is one.
    pub fn external(&self) -> Option<&External> {
        self.external.as_ref()
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn runs(&self) -> PathBuf {
        self.dir.join("runs")
    }

    fn evidence_folder(&self) -> PathBuf {
        self.dir.join("evidence")
    }

    /// Opens a record: from here on there is a place to write to, so a full or read-only disk shows before anything is measured.
    pub fn begin(&self, gate: &str) -> Result<Draft, StoreError> {
        if !is_gate_name(gate) {
            let source = crate::record::RecordError::GateName { found: gate.to_owned() };
            return Err(StoreError::Invalid { path: self.runs(), source });
        }
        Draft::open(self.clone(), gate)
    }

    /// All records, oldest first; the first file that is not one is the error.
    pub fn read_all(&self) -> Result<Vec<Record>, StoreError> {
        Ok(self.read_kept()?.into_iter().map(|kept| kept.record).collect())
    }

    /// The same with what a later program wrote into them.
    pub fn read_kept(&self) -> Result<Vec<Kept>, StoreError> {
        read::read_files(&self.run_files()?).into_iter().collect()
    }

    /// The whole text of a record, as it was written.
    pub fn text(&self, id: &str) -> Result<String, StoreError> {
        let path = self.run_file(id);
        fs::read_to_string(&path).map_err(io_error("read", &path))
    }

    /// Where the record of an id lies.
    pub fn run_file(&self, id: &str) -> PathBuf {
        self.runs().join(format!("{id}.json"))
    }

    /// The bytes of an evidence file, verified.
    pub fn evidence(&self, entry: &Evidence) -> Result<Vec<u8>, StoreError> {
        let path = self.present(&self.dir, entry)?;
        let bytes = fs::read(&path).map_err(io_error("read", &path))?;
        matched(path, entry, sha256_hex(&bytes))?;
        Ok(bytes)
    }

    /// What an evidence file holds, verified, and unpacked where its name says that it is compressed.
    pub fn content(&self, entry: &Evidence) -> Result<Vec<u8>, StoreError> {
        let kept = self.evidence(entry)?;
        if !packed::is_packed(&entry.name) {
            return Ok(kept);
        }
        let (name, path) = (entry.name.clone(), self.evidence_file(entry));
        packed::unpack(&entry.name, &kept)
            .map(Cow::into_owned)
            .map_err(|source| StoreError::Packed { path, name, source })
    }

    /// Where a piece of evidence lies, or would lie where it is absent.
    pub fn evidence_file(&self, entry: &Evidence) -> PathBuf {
        match &self.external {
            Some(external) if entry.external => external.file(&entry.sha256),
            _ => self.dir.join(&entry.path),
        }
    }

    /// Checks a piece of evidence against its hash; `record` is the file that names it, for the message.
    fn verify_evidence(&self, record: &Path, entry: &Evidence) -> Result<(), StoreError> {
        let path = self.present(record, entry)?;
        let found = sha256_file(&path).map_err(io_error("read", &path))?;
        matched(path, entry, found)
    }

    /// Where a piece of evidence lies; of what is kept outside, the error says that it is not there.
    fn present(&self, record: &Path, entry: &Evidence) -> Result<PathBuf, StoreError> {
        let path = self.evidence_file(entry);
        if entry.external && !path.exists() {
            return Err(StoreError::Absent {
                path: record.to_owned(),
                name: entry.name.clone(),
                sha256: entry.sha256.clone(),
                bytes: entry.bytes,
                looked: path.parent().unwrap_or(&self.dir).to_owned(),
            });
        }
        Ok(path)
    }

    /// The file of every record, oldest first; what is in them is not read.
    pub fn run_files(&self) -> Result<Vec<PathBuf>, StoreError> {
        let runs = self.runs();
        let mut files = Vec::new();
        for entry in fs::read_dir(&runs).map_err(io_error("list", &runs))? {
            let entry = entry.map_err(io_error("list", &runs))?;
            if !entry.file_name().to_string_lossy().starts_with('.') {
                files.push(entry.path());
            }
        }
        files.sort_unstable();
        Ok(files)
    }
}

/// Holds the digest that a file has against the one that it is to have.
fn matched(path: PathBuf, entry: &Evidence, found: String) -> Result<(), StoreError> {
    if found == entry.sha256 {
        return Ok(());
    }
    Err(StoreError::Changed { path, expected: entry.sha256.clone(), found })
}

/// Where evidence lies, relative to the store: by its hash, with the extension of its name so that viewers know what it is.
fn evidence_path(name: &str, sha256: &str) -> String {
    match name.rsplit_once('.') {
        Some((_, extension)) => format!("evidence/{sha256}.{extension}"),
        None => format!("evidence/{sha256}"),
    }
}
