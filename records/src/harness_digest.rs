//! The digest of the judge's own sources: the name by which a record says which harness decided its verdict.
//!
//! It is made as [`crate::source_digest`] is, over `gates/`, `oracles/` and `records/`. `gates/build.rs`, which includes
//! this file by path, embeds it in `gate`; that compares it with the tree before it judges anything.

use std::path::Path;

use crate::source_digest::{SourceDigestError, digest, files};

/// The crates whose sources decide a verdict.
const CRATES: [&str; 3] = ["gates", "oracles", "records"];

/// SHA-256 over the sorted sources of the harness below the workspace root, as 64 lowercase hexadecimal digits.
pub fn harness_digest(root: &Path) -> Result<String, SourceDigestError> {
    digest(root, &files(root, &CRATES)?, &CRATES)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn changes_with_the_judges_sources_and_not_with_the_engines() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for path in ["Cargo.lock", "Cargo.toml", "engine/src/lib.rs", "kernels/src/lib.rs"] {
            write(path, "x");
        }
        for name in CRATES {
            write(&format!("{name}/Cargo.toml"), "x");
            write(&format!("{name}/src/lib.rs"), "x");
        }
        let now = || harness_digest(root.path()).unwrap();
        let before = now();
        for path in [
            "engine/src/lib.rs",
            "kernels/src/lib.rs",
            "gates/tests/it/main.rs",
            "gates/src/snapshots/s.snap",
            "gates/specs/g.toml",
            "oracles/goldens/o/g/manifest.json",
            "records/runs/r.json",
        ] {
            write(path, "y");
            assert_eq!(now(), before, "{path} judges nothing");
        }
        for name in CRATES {
            let before = now();
            write(&format!("{name}/src/lib.rs"), "y");
            assert_ne!(now(), before, "{name}");
        }
        fs::remove_dir_all(root.path().join("gates/src")).unwrap();
        assert!(harness_digest(root.path()).is_err());
    }
}
