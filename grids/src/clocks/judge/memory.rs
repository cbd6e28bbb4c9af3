//! V-COLD and V-MEMRET.

use crate::clocks::bound::MEMORY_MISSING_KIB;
use crate::clocks::memory::Resident;
use crate::rule::{Rule, Violation};

/// V-COLD: not a byte of any of the files lies in the page cache, and there are files.
pub fn cold(files: &[Resident]) -> Option<Violation> {
    let broken = |reason: String| Some(Violation::new(Rule::Cold, reason));
    if files.is_empty() {
        return broken("no file was asked about".to_owned());
    }
    let warm = files.iter().find(|file| file.bytes != Some(0))?;
    let path = warm.path.display();
    match warm.bytes {
        Some(bytes) => broken(format!("{bytes} bytes of {path} lie in the page cache")),
        None => broken(format!("how much of {path} lies in the page cache could not be asked")),
    }
}

/// V-MEMRET: all but [`MEMORY_MISSING_KIB`] of the memory that was available before a leg is available after it.
pub fn returned(before_kib: Option<u64>, after_kib: Option<u64>) -> Option<Violation> {
    let reason = match (before_kib, after_kib) {
        (Some(before), Some(after)) if after.saturating_add(MEMORY_MISSING_KIB) >= before => {
            return None;
        }
        (Some(before), Some(after)) => {
            format!("{} KiB are missing, of at most {MEMORY_MISSING_KIB}", before - after)
        }
        _ => "the available memory could not be read".to_owned(),
    };
    Some(Violation::new(Rule::MemoryReturn, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cold_is_not_a_byte() {
        let file = |bytes| Resident { path: "w.safetensors".into(), bytes };
        assert_eq!(cold(&[file(Some(0)), file(Some(0))]), None);
        for warm in [vec![file(Some(0)), file(Some(4_096))], vec![file(None)], vec![]] {
            assert_eq!(cold(&warm).map(|found| found.rule), Some(Rule::Cold));
        }
    }

    #[test]
    fn returned_at_its_bound() {
        let fires = |before, after| returned(before, after).is_some();
        assert!(!fires(Some(2_000_000), Some(951_424)));
        assert!(fires(Some(2_000_000), Some(951_423)));
        assert!(!fires(Some(5), Some(9)));
        assert!(fires(None, Some(9)) && fires(Some(9), None));
    }
}
