//! Writing: a record that is open, and how it and its evidence get their names.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use tempfile::NamedTempFile;

use super::error::io_error;
use super::read::{content_hash, id_prefix};
use super::{DRAFT_PREFIX, EXTERNAL_BYTES, Store, StoreError, evidence_path};
use crate::canonical::canonical_json;
use crate::digest::sha256_hex;
use crate::packed;
use crate::record::{Evidence, Record};

/// A record that is open: nothing of it is visible until it is committed.
#[derive(Debug)]
pub struct Draft {
    store: Store,
    gate: String,
    started_at: Timestamp,
    file: NamedTempFile,
    evidence: Vec<(Evidence, NamedTempFile)>,
}

impl Draft {
    pub(super) fn open(store: Store, gate: &str) -> Result<Self, StoreError> {
        let mut file = hidden_file(&store.runs())?;
        let started_at = Timestamp::now();
        let note = format!("{gate} since {started_at}: running, or interrupted\n");
        file.write_all(note.as_bytes()).map_err(io_error("write", file.path()))?;
        Ok(Self { store, gate: gate.to_owned(), started_at, file, evidence: Vec::new() })
    }

    /// When the record was opened.
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// Adds a file to keep beside the record, such as `subject.jsonl`: inside the store, or outside where it is larger than
    /// [`EXTERNAL_BYTES`] and the store has a place there.
    pub fn evidence(&mut self, name: &str, bytes: &[u8]) -> Result<Evidence, StoreError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if name.is_empty()
            || name.starts_with('.')
            || name.ends_with('.')
            || !name.chars().all(plain)
        {
            return Err(StoreError::EvidenceName { found: name.to_owned() });
        }
        let sha256 = sha256_hex(bytes);
        let path = evidence_path(name, &sha256);
        let external = self.store.external.is_some() && bytes.len() > EXTERNAL_BYTES;
        let length = bytes.len() as u64;
        let entry = Evidence { name: name.to_owned(), path, sha256, bytes: length, external };
        let target = self.store.evidence_file(&entry);
        let folder = target.parent().unwrap_or(self.store.dir());
        fs::create_dir_all(folder).map_err(io_error("create", folder))?;
        let mut file = hidden_file(folder)?;
        file.write_all(bytes).map_err(io_error("write", file.path()))?;
        flush(&file)?;
        self.evidence.push((entry.clone(), file));
        Ok(entry)
    }

    /// The same of what a file holds, compressed where its name says so.
    pub fn content(&mut self, name: &str, content: &[u8]) -> Result<Evidence, StoreError> {
        self.evidence(name, &packed::pack(name, content))
    }

    /// Writes the record and gives its path. `id`, `started_at` and `evidence` are filled in here.
    pub fn commit(self, mut record: Record) -> Result<PathBuf, StoreError> {
        let Self { store, gate, started_at, mut file, evidence } = self;
        if record.gate != gate {
            return Err(StoreError::OtherGate { opened: gate, found: record.gate });
        }
        record.started_at = started_at;
        record.evidence = evidence.iter().map(|(entry, _)| entry.clone()).collect();
        record.validate().map_err(|source| StoreError::Invalid { path: store.runs(), source })?;
        let unwritable = |source| StoreError::Unwritable { gate: gate.clone(), source };
        record.id = String::new();
        let nameless = canonical_json(&record).map_err(unwritable)?;
        record.id = id_prefix(started_at, &gate) + &content_hash(&nameless, "");
        let text = canonical_json(&record).map_err(unwritable)?;

        // Everything is on the disk before anything gets its name, and the record gets its own last.
        rewrite(&mut file, text.as_bytes())?;
        flush(&file)?;
        let path = store.run_file(&record.id);
        for (entry, staged) in evidence {
            place_evidence(&store, &path, &entry, staged)?;
        }
        flush_folder(&store.evidence_folder())?;
        file.persist_noclobber(&path).map_err(|error| io_error("write", &path)(error.error))?;
        flush_folder(&store.runs())?;
        Ok(path)
    }
}

/// Gives evidence its name; the same bytes may already have it.
fn place_evidence(
    store: &Store,
    record: &Path,
    entry: &Evidence,
    staged: NamedTempFile,
) -> Result<(), StoreError> {
    let path = store.evidence_file(entry);
    match staged.persist_noclobber(&path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            store.verify_evidence(record, entry)?;
        }
        Err(error) => return Err(io_error("write", &path)(error.error)),
    }
    if entry.external { flush_folder(path.parent().unwrap_or(store.dir())) } else { Ok(()) }
}

/// A file that vanishes when dropped, readable by all once it is named.
///
/// Its writer holds a lock on it: the system lets go of it when the process ends, however it ends, so that a reader can tell a
/// draft that is being written from one that was left behind.
fn hidden_file(folder: &Path) -> Result<NamedTempFile, StoreError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(DRAFT_PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o644));
    }
    let file = builder.tempfile_in(folder).map_err(io_error("create a file in", folder))?;
    file.as_file().lock().map_err(io_error("lock", file.path()))?;
    Ok(file)
}

/// Replaces what a hidden file holds.
fn rewrite(file: &mut NamedTempFile, bytes: &[u8]) -> Result<(), StoreError> {
    let path = file.path().to_owned();
    let target = file.as_file_mut();
    target
        .set_len(0)
        .and_then(|()| io::Seek::rewind(target))
        .and_then(|()| target.write_all(bytes))
        .map_err(io_error("write", &path))
}

fn flush(file: &NamedTempFile) -> Result<(), StoreError> {
    file.as_file().sync_all().map_err(io_error("flush", file.path()))
}

/// Makes new names in a folder survive a power cut.
fn flush_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder).and_then(|dir| dir.sync_all()).map_err(io_error("flush", folder))
}
