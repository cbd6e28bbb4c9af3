//! The store: one run, one file, never edited.
//!
//! `runs/DATE-GATE-HASH.json` holds a record in canonical JSON; HASH is the start of the SHA-256 of that text without its `id`
//! line, so that a file's name gives away any change of its content. `evidence/` holds files by the SHA-256 of their bytes.
//!
//! Every file is written under a hidden name, flushed to the disk, and then given its real name without overwriting. So there
//! is no half record, writers in several processes do not meet, and a draft that is dropped leaves nothing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::canonical::canonical_json;
use crate::digest::{sha256_file, sha256_hex};
use crate::record::{Evidence, Record, RecordError, SCHEMA_VERSION, is_gate_name, is_sha256};

/// Hidden names that a reader passes over.
const DRAFT_PREFIX: &str = ".draft-";
/// Digits of the hash in a file's name.
const HASH_DIGITS: usize = 12;

/// The folder `records/`, opened.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// What is wrong with a store or a file in it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// Torn, or never a record.
    #[error("{}: not JSON: torn, or not a record", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What the parser said, with its line.
        #[source]
        source: serde_json::Error,
    },
    /// Written by another version of this program.
    #[error("{}: schema_version {found}: this program reads {SCHEMA_VERSION}", .path.display())]
    SchemaVersion {
        /// The file.
        path: PathBuf,
        /// What stands there, or `missing`.
        found: String,
    },
    /// The content is not what the name says.
    #[error(
        "{}: its content hashes to {found}, its name says {expected}: changed after it was written",
        .path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// The hash in the name.
        expected: String,
        /// The hash of the content.
        found: String,
    },
    /// The same values in other bytes.
    #[error("{}: not in canonical form: changed after it was written", .path.display())]
    NotCanonical {
        /// The file.
        path: PathBuf,
    },
    /// A file in `runs/` that is named like nothing we write.
    #[error("{}: expected a name of the form DATE-GATE-HASH.json, equal to the record's id", .path.display())]
    Name {
        /// The file.
        path: PathBuf,
    },
    /// A known version with other fields.
    #[error("{}: not a record of schema version {SCHEMA_VERSION}", .path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// The field, from the parser.
        #[source]
        source: serde_json::Error,
    },
    /// A record that contradicts itself.
    #[error("{}: the record contradicts itself", .path.display())]
    Invalid {
        /// The file, or the gate before it has one.
        path: PathBuf,
        /// What contradicts what.
        #[source]
        source: RecordError,
    },
    /// A draft committed with the record of another gate.
    #[error("the draft was opened for gate {opened}, the record is of gate {found}")]
    OtherGate {
        /// The gate the draft was opened for.
        opened: String,
        /// The gate of the record.
        found: String,
    },
    /// A record cannot become JSON.
    #[error("the record of gate {gate} cannot be written as JSON")]
    Unwritable {
        /// The gate.
        gate: String,
        /// What the writer said.
        #[source]
        source: serde_json::Error,
    },
    /// An evidence entry whose path is not the one its hash gives.
    #[error("{}: evidence {name:?} at {found:?}: expected a path that its hash gives", .path.display())]
    EvidencePath {
        /// The record's file.
        path: PathBuf,
        /// The evidence's name.
        name: String,
        /// The path as written.
        found: String,
    },
    /// An unusable evidence name.
    #[error("evidence name {found:?}: expected letters, digits, '.', '-' and '_' only")]
    EvidenceName {
        /// The name as given.
        found: String,
    },
}

impl Store {
    /// Opens the folder, creating it where it is missing.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let store = Self { dir: dir.into() };
        for folder in [store.runs(), store.dir.join("evidence")] {
            fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
        }
        Ok(store)
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn runs(&self) -> PathBuf {
        self.dir.join("runs")
    }

    /// Opens a record: from here on there is a place to write to, so a full or read-only disk shows before anything is measured.
    pub fn begin(&self, gate: &str) -> Result<Draft, StoreError> {
        if !is_gate_name(gate) {
            let source = RecordError::GateName { found: gate.to_owned() };
            return Err(StoreError::Invalid { path: self.runs(), source });
        }
        let mut file = hidden_file(&self.runs())?;
        let started_at = Timestamp::now();
        let note = format!("{gate} since {started_at}: running, or interrupted\n");
        file.write_all(note.as_bytes()).map_err(io_error("write", file.path()))?;
        let gate = gate.to_owned();
        Ok(Draft { store: self.clone(), gate, started_at, file, evidence: Vec::new() })
    }

    /// All records, oldest first; the first file that is not one is the error.
    pub fn read_all(&self) -> Result<Vec<Record>, StoreError> {
        self.run_files()?.iter().map(|path| read_record(path)).collect()
    }

    /// Every defect of every record and of its evidence; empty when all is well.
    pub fn verify(&self) -> Result<Vec<StoreError>, StoreError> {
        let mut defects = Vec::new();
        for path in self.run_files()? {
            match read_record(&path) {
                Err(defect) => defects.push(defect),
                Ok(record) => defects.extend(
                    record.evidence.iter().filter_map(|entry| self.verify_evidence(entry).err()),
                ),
            }
        }
        Ok(defects)
    }

    /// The bytes of an evidence file, verified.
    pub fn evidence(&self, entry: &Evidence) -> Result<Vec<u8>, StoreError> {
        self.verify_evidence(entry)?;
        let path = self.dir.join(&entry.path);
        fs::read(&path).map_err(io_error("read", &path))
    }

    fn verify_evidence(&self, entry: &Evidence) -> Result<(), StoreError> {
        let path = self.dir.join(&entry.path);
        let found = sha256_file(&path).map_err(io_error("read", &path))?;
        if found != entry.sha256 {
            return Err(StoreError::Changed { path, expected: entry.sha256.clone(), found });
        }
        Ok(())
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

/// Reads one file of `runs/` and checks it against its own name.
pub fn read_record(path: &Path) -> Result<Record, StoreError> {
    let bytes = fs::read(path).map_err(io_error("read", path))?;
    let path = path.to_owned();
    let value: Value = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(source) => return Err(StoreError::Json { path, source }),
    };
    let version = value.get("schema_version");
    if version.and_then(Value::as_u64) != Some(u64::from(SCHEMA_VERSION)) {
        let found = version.map_or_else(|| "missing".to_owned(), Value::to_string);
        return Err(StoreError::SchemaVersion { path, found });
    }
    check_name(&path, &value)?;
    if canonical_json(&value).ok().as_deref().map(str::as_bytes) != Some(&bytes) {
        return Err(StoreError::NotCanonical { path });
    }
    let record: Record = match serde_json::from_value(value) {
        Ok(record) => record,
        Err(source) => return Err(StoreError::Schema { path, source }),
    };
    if let Err(source) = record.validate() {
        return Err(StoreError::Invalid { path, source });
    }
    if !record.id.starts_with(&id_prefix(record.started_at, &record.gate)) {
        return Err(StoreError::Name { path });
    }
    for entry in &record.evidence {
        if !is_sha256(&entry.sha256) || entry.path != evidence_path(&entry.name, &entry.sha256) {
            let (name, found) = (entry.name.clone(), entry.path.clone());
            return Err(StoreError::EvidencePath { path, name, found });
        }
    }
    Ok(record)
}

/// The stem must be the id, and end in the hash of everything but the id.
fn check_name(path: &Path, value: &Value) -> Result<(), StoreError> {
    let stem = path
        .file_name()
        .and_then(|name| name.to_str()?.strip_suffix(".json"))
        .filter(|stem| value.get("id").and_then(Value::as_str) == Some(stem));
    let Some((_, expected)) = stem.and_then(|stem| stem.rsplit_once('-')) else {
        return Err(StoreError::Name { path: path.to_owned() });
    };
    let found = content_hash(value.clone())
        .map_err(|source| StoreError::Json { path: path.to_owned(), source })?;
    if found != expected {
        let (path, expected) = (path.to_owned(), expected.to_owned());
        return Err(StoreError::Changed { path, expected, found });
    }
    Ok(())
}

/// `DATE-GATE-`, which the hash follows; sorted names are in the order of time.
fn id_prefix(started_at: Timestamp, gate: &str) -> String {
    format!("{}-{gate}-", started_at.strftime("%Y%m%dT%H%M%SZ"))
}

/// The start of the SHA-256 of the canonical text without the id.
fn content_hash(mut value: Value) -> Result<String, serde_json::Error> {
    if let Some(object) = value.as_object_mut() {
        object.shift_remove("id");
    }
    let mut hash = sha256_hex(canonical_json(&value)?.as_bytes());
    hash.truncate(HASH_DIGITS);
    Ok(hash)
}

/// Where evidence lies, relative to the store: by its hash, with the extension of its name so that viewers know what it is.
fn evidence_path(name: &str, sha256: &str) -> String {
    match name.rsplit_once('.') {
        Some((_, extension)) => format!("evidence/{sha256}.{extension}"),
        None => format!("evidence/{sha256}"),
    }
}

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
    /// When the record was opened.
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// Adds a file to keep beside the record, such as `subject.jsonl`.
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
        let entry = Evidence { name: name.to_owned(), path, sha256, bytes: bytes.len() as u64 };
        let mut file = hidden_file(&self.store.dir.join("evidence"))?;
        file.write_all(bytes).map_err(io_error("write", file.path()))?;
        flush(&file)?;
        self.evidence.push((entry.clone(), file));
        Ok(entry)
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
        let hash =
            content_hash(serde_json::to_value(&record).map_err(unwritable)?).map_err(unwritable)?;
        record.id = id_prefix(started_at, &gate) + &hash;
        let text = canonical_json(&record).map_err(unwritable)?;

        // Everything is on the disk before anything gets its name, and the record gets its own last.
        rewrite(&mut file, text.as_bytes())?;
        flush(&file)?;
        for (entry, staged) in evidence {
            place_evidence(&store, &entry, staged)?;
        }
        flush_folder(&store.dir.join("evidence"))?;
        let path = store.runs().join(format!("{}.json", record.id));
        file.persist_noclobber(&path).map_err(|error| io_error("write", &path)(error.error))?;
        flush_folder(&store.runs())?;
        Ok(path)
    }
}

/// Gives evidence its name; the same bytes may already have it.
fn place_evidence(
    store: &Store,
    entry: &Evidence,
    staged: NamedTempFile,
) -> Result<(), StoreError> {
    let path = store.dir.join(&entry.path);
    match staged.persist_noclobber(&path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            store.verify_evidence(entry)
        }
        Err(error) => Err(io_error("write", &path)(error.error)),
    }
}

/// A file that vanishes when dropped, readable by all once it is named.
fn hidden_file(folder: &Path) -> Result<NamedTempFile, StoreError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(DRAFT_PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o644));
    }
    builder.tempfile_in(folder).map_err(io_error("create a file in", folder))
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

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { action, path, source }
}
