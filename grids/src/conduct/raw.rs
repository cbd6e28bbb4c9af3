//! What a leg's numbers are derived from, as it came: `FOLDER/raw/ID.json.gz`, which every metric and every rule can be asked of again.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;

use super::ConductError;
use crate::clocks::window::Window;
use crate::load::account::AccountSummary;
use crate::load::trace::Trace;

/// A leg as it came.
#[derive(Debug, Serialize)]
pub struct Raw {
    /// When it started, on the machine's monotonic clock; the times of the traces count from here.
    pub start_ns: u64,
    /// One a request.
    pub traces: Vec<Trace>,
    /// The machine around it.
    pub window: Window,
    /// The client's account of itself.
    pub account: AccountSummary,
}

/// Writes it whole beside its place, then into it. A leg that is run again after a kill writes it again.
pub fn keep(folder: &Path, leg: &str, raw: &Raw) -> Result<(), ConductError> {
    let folder = folder.join("raw");
    let path = folder.join(format!("{leg}.json.gz"));
    let beside = folder.join(format!("{leg}.json.gz.new"));
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(&folder)?;
        let mut file = GzEncoder::new(File::create(&beside)?, Compression::fast());
        serde_json::to_writer(&mut file, raw)?;
        file.finish()?.flush()?;
        std::fs::rename(&beside, &path)
    };
    write().map_err(|source| ConductError::Raw { path: path.clone(), source })
}
