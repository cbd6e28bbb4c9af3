//! Reading a record: the whole text against its name, then what this program knows of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::error::io_error;
use super::{HASH_DIGITS, StoreError, evidence_path};
use crate::canonical::sorted_text;
use crate::digest::sha256_hex;
use crate::metric::Metric;
use crate::record::{Record, SCHEMA_VERSION, is_sha256};

/// The field of a record that holds its numbers.
const MEASUREMENTS: &str = "measurements";

/// A record as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// What this program knows of it.
    pub record: Record,
    /// What a later program wrote beside it, by the path of the field, such as `subject.board` or `measurements.3`. Its hash was
    /// checked with the rest.
    pub unknown: BTreeMap<String, Value>,
}

/// Reads one file of `runs/` and checks it against its own name.
pub fn read_record(path: &Path) -> Result<Record, StoreError> {
    Ok(read_kept(path)?.record)
}

/// The same with the fields of a later program.
pub fn read_kept(path: &Path) -> Result<Kept, StoreError> {
    let bytes = fs::read(path).map_err(io_error("read", path))?;
    let path = path.to_owned();
    let mut value: Value = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(source) => return Err(StoreError::Json { path, source }),
    };
    let version = value.get("schema_version");
    if version.and_then(Value::as_u64) != Some(u64::from(SCHEMA_VERSION)) {
        let found = version.map_or_else(|| "missing".to_owned(), Value::to_string);
        return Err(StoreError::SchemaVersion { path, found });
    }
    value.sort_all_objects();
    check_name(&path, &value, &bytes)?;
    let kept = match typed(value) {
        Ok(kept) => kept,
        Err(source) => return Err(StoreError::Schema { path, source }),
    };
    let record = &kept.record;
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
    Ok(kept)
}

/// Reads files on all cores; the outcomes are in the order of the files.
pub(super) fn read_files(files: &[PathBuf]) -> Vec<Result<Kept, StoreError>> {
    on_all_cores(files, |path| read_kept(path))
}

/// Does `work` for every item on all cores; the outcomes are in the order of the items.
pub(super) fn on_all_cores<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    /// Below this a thread costs more than it brings.
    const WORTHWHILE: usize = 64;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = items.len().div_ceil(cores).max(WORTHWHILE);
    std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = items
            .chunks(share)
            .map(|chunk| scope.spawn(move || chunk.iter().map(work).collect::<Vec<R>>()))
            .collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, Vec<R>>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).collect()
    })
}

/// The known part of a record, and the rest.
fn typed(mut value: Value) -> Result<Kept, serde_json::Error> {
    let mut unknown = BTreeMap::new();
    let measured = set_unknown_metrics_aside(&mut value, &mut unknown);
    let mut places = Vec::new();
    let record = serde_ignored::deserialize(&value, |path| places.push(keys(&path)))?;
    for mut place in places {
        let found = place.iter().try_fold(&value, |value, key| match value {
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            other => other.get(key),
        });
        if let [list, index, ..] = &mut place[..]
            && list == MEASUREMENTS
            && let Some(written) = index.parse().ok().and_then(|index: usize| measured.get(index))
        {
            *index = written.to_string();
        }
        unknown.insert(place.join("."), found.cloned().unwrap_or_default());
    }
    Ok(Kept { record, unknown })
}

/// The keys that lead to a field.
fn keys(path: &serde_ignored::Path<'_>) -> Vec<String> {
    use serde_ignored::Path;
    let (parent, key) = match path {
        Path::Root => return Vec::new(),
        Path::Seq { parent, index } => (parent, index.to_string()),
        Path::Map { parent, key } => (parent, key.clone()),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => return keys(parent),
    };
    let mut keys = keys(parent);
    keys.push(key);
    keys
}

/// A later program may measure what this one has no name for. Such an entry has no type here, and is kept as it is. Gives the
/// places, as they were written, of the entries that stay.
fn set_unknown_metrics_aside(
    value: &mut Value,
    unknown: &mut BTreeMap<String, Value>,
) -> Vec<usize> {
    let Some(Value::Array(entries)) = value.get_mut(MEASUREMENTS) else { return Vec::new() };
    let (mut index, mut known) = (0, Vec::new());
    entries.retain(|entry| {
        let metric = entry.get("metric").filter(|metric| metric.is_string());
        let is_known = metric.is_none_or(|metric| Metric::deserialize(metric).is_ok());
        if is_known {
            known.push(index);
        } else {
            unknown.insert(format!("{MEASUREMENTS}.{index}"), entry.clone());
        }
        index += 1;
        is_known
    });
    known
}

/// The stem must be the id, and end in the hash of everything but the id; the bytes must be the canonical ones.
fn check_name(path: &Path, value: &Value, bytes: &[u8]) -> Result<(), StoreError> {
    let id = value.get("id").and_then(Value::as_str);
    let stem = path
        .file_name()
        .and_then(|name| name.to_str()?.strip_suffix(".json"))
        .filter(|stem| id == Some(stem));
    let Some((_, expected)) = stem.and_then(|stem| stem.rsplit_once('-')) else {
        return Err(StoreError::Name { path: path.to_owned() });
    };
    let canonical =
        sorted_text(value).map_err(|source| StoreError::Json { path: path.to_owned(), source })?;
    let found = content_hash(&canonical, id.unwrap_or_default());
    if found != expected {
        let (path, expected) = (path.to_owned(), expected.to_owned());
        return Err(StoreError::Changed { path, expected, found });
    }
    if canonical.as_bytes() != bytes {
        return Err(StoreError::NotCanonical { path: path.to_owned() });
    }
    Ok(())
}

/// `DATE-GATE-`, which the hash follows; sorted names are in the order of time.
pub(super) fn id_prefix(started_at: Timestamp, gate: &str) -> String {
    format!("{}-{gate}-", started_at.strftime("%Y%m%dT%H%M%SZ"))
}

/// The start of the SHA-256 of the canonical text without its `id` line: keys are sorted and each stands on a line of its own, so
/// that the text without the line is the canonical text of the record without the field.
pub(super) fn content_hash(canonical: &str, id: &str) -> String {
    let line = format!("\n  \"id\": {},", Value::from(id));
    let mut hash = sha256_hex(canonical.replacen(&line, "", 1).as_bytes());
    hash.truncate(HASH_DIGITS);
    hash
}
