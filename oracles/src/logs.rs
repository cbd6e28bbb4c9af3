//! Logs of child processes: kept in the cache, the newest few, quoted in errors.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::Home;
use crate::place::{self, PlaceError};

/// How many logs are kept.
const KEPT: usize = 40;
/// How many of a log's last lines an error quotes.
const TAIL_LINES: usize = 20;

/// A new path for the log of `what`; the oldest logs beyond `KEPT` are removed.
pub fn create(home: &Home, what: &str) -> Result<PathBuf, PlaceError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let dir = home.cache.join("logs");
    place::create_dir(&dir)?;
    prune(&dir);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    Ok(dir.join(format!("{what}-{now}-{}-{count}.log", std::process::id())))
}

/// The last lines of a log; what cannot be read is said in its place.
pub fn tail(path: &Path) -> String {
    match fs::read(path) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            let lines: Vec<&str> = text.lines().collect();
            lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
        }
        Err(error) => format!("(the log cannot be read: {error})"),
    }
}

/// Best effort: a log that stays costs a little space and nothing else.
fn prune(dir: &Path) {
    let mut logs: Vec<(SystemTime, PathBuf)> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    logs.sort();
    let excess = logs.len().saturating_sub(KEPT);
    for (_, path) in logs.into_iter().take(excess) {
        let _ = fs::remove_file(path);
    }
}
