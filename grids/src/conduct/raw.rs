//! What a leg's numbers are derived from, as it came: `FOLDER/raw/ID.json.gz`, which every metric and every rule can be asked of again.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::ConductError;
use crate::clocks::window::Window;
use crate::correct::agreement::Said;
use crate::load::account::AccountSummary;
use crate::load::trace::Trace;
use crate::series::{StateError, state};

/// A leg as it came.
#[derive(Debug, Serialize)]
pub struct Raw {
    /// When its window was opened, on the machine's monotonic clock.
    pub opened_ns: u64,
    /// When that was closed, after the spin.
    pub closed_ns: u64,
    /// When it started, on the machine's monotonic clock; the times of the traces count from here.
    pub start_ns: u64,
    /// One a request.
    pub traces: Vec<Trace>,
    /// The machine around it.
    pub window: Window,
    /// The client's account of itself.
    pub account: AccountSummary,
    /// What the server said to each request.
    pub said: Vec<Said>,
}

/// The part of a leg that its agreement with another is read from.
#[derive(Debug, Deserialize)]
struct Answers {
    said: Vec<Said>,
}

/// Writes it whole beside its place, then into it. A leg that was killed before it had an outcome, and is run again, writes it again;
/// the caller has made sure that there is no outcome.
pub fn keep(folder: &Path, leg: &str, raw: &Raw) -> Result<(), ConductError> {
    let path = path(folder, leg);
    let beside = path.with_extension("gz.new");
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder.join("raw"))?;
        let mut file = GzEncoder::new(File::create(&beside)?, Compression::fast());
        serde_json::to_writer(&mut file, raw)?;
        file.finish()?.flush()?;
        std::fs::rename(&beside, &path)
    };
    write().map_err(|source| ConductError::Raw { path: path.clone(), source })
}

/// Writes a run that the machine spoilt, beside the place of the one that will follow it.
pub fn keep_spoilt(folder: &Path, leg: &str, raw: &Raw) -> Result<(), ConductError> {
    keep(folder, leg, raw)?;
    state::set_aside(&path(folder, leg), "spoilt")?;
    Ok(())
}

/// What the server of a leg said, from what was kept of it; `None` where nothing was.
pub fn said(folder: &Path, leg: &str) -> Result<Option<Vec<Said>>, ConductError> {
    Ok(read::<Answers>(folder, leg)?.map(|answers| answers.said))
}

/// A part of what was kept of a leg; `None` where nothing was.
pub fn read<T: DeserializeOwned>(folder: &Path, leg: &str) -> Result<Option<T>, ConductError> {
    let path = path(folder, leg);
    let failed = |source| ConductError::Raw { path: path.clone(), source };
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    serde_json::from_reader(std::io::BufReader::new(GzDecoder::new(file)))
        .map(Some)
        .map_err(|error| failed(error.into()))
}

/// Sets aside what was kept of a leg that is run again.
pub fn set_aside(folder: &Path, leg: &str) -> Result<(), StateError> {
    let path = path(folder, leg);
    if path.exists() { state::set_aside(&path, "again").map(drop) } else { Ok(()) }
}

fn path(folder: &Path, leg: &str) -> PathBuf {
    folder.join("raw").join(format!("{leg}.json.gz"))
}
