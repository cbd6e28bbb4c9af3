//! Memory that programs could get, and how much of files lies in the page cache.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{Advice, fadvise};
use serde::{Deserialize, Serialize};

/// `MemAvailable` of `/proc/meminfo`, in KiB.
pub fn available_kib() -> Option<u64> {
    parse_available(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse_available(meminfo: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    value.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// What of a file lies in the page cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resident {
    /// The file.
    pub path: PathBuf,
    /// Bytes of it in the page cache; `None` where that could not be asked.
    pub bytes: Option<u64>,
}

/// Asks the kernel to drop a file from the page cache: writes it back, then POSIX_FADV_DONTNEED. It may keep pages that are mapped or
/// dirty; [`resident`] says what it did.
pub fn evict(path: &Path) -> io::Result<()> {
    let file = fs::File::open(path)?;
    file.sync_all()?;
    Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
}

/// Asks `fincore` of util-linux, which maps the file and calls mincore(2) without touching a page.
pub fn resident(path: &Path) -> Resident {
    let asked = Command::new("fincore")
        .args(["--raw", "--bytes", "--noheadings", "--output", "RES"])
        .arg(path)
        .output();
    let bytes = asked
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8_lossy(&output.stdout).trim().parse().ok());
    Resident { path: path.to_owned(), bytes }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn reads_the_text_of_proc() {
        let text = "MemTotal:  24000 kB\nMemAvailable:   12345 kB\nCached: 5 kB\n";
        assert_eq!(parse_available(text), Some(12_345));
        assert_eq!(parse_available("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn what_cannot_be_asked_is_not_zero() {
        assert_eq!(resident(Path::new("/nowhere/at/all")).bytes, None);
        assert!(evict(Path::new("/nowhere/at/all")).is_err());
    }

    /// Written pages are resident; whether an eviction succeeds is the file system's to say, but never more stays than was there.
    #[test]
    fn evicts_a_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        let before = resident(file.path()).bytes;
        evict(file.path()).unwrap();
        let after = resident(file.path()).bytes;
        assert!(after <= before, "{before:?} then {after:?}");
    }
}
