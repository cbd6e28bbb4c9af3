//! Files of a tree by globs, each of which must choose something.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::{ProvisionError, tree};

/// The files of `source` that a glob chooses, relative to it; a glob that chooses none is refused.
pub(super) fn chosen(
    source: &Path,
    key: &'static str,
    globs: &[String],
) -> Result<BTreeSet<PathBuf>, ProvisionError> {
    let all: Vec<PathBuf> = tree::files_under(source)?
        .into_iter()
        .filter_map(|path| path.strip_prefix(source).ok().map(Path::to_path_buf))
        .collect();
    let mut chosen = BTreeSet::new();
    for glob in globs {
        let matcher = matcher(key, glob)?;
        let before = chosen.len();
        chosen.extend(all.iter().filter(|path| matcher.is_match(path)).cloned());
        if chosen.len() == before {
            let reason = format!("chooses nothing new in {}", source.display());
            return Err(ProvisionError::Glob { key, glob: glob.clone(), reason });
        }
    }
    Ok(chosen)
}

fn matcher(key: &'static str, glob: &str) -> Result<GlobMatcher, ProvisionError> {
    let built = GlobBuilder::new(glob).literal_separator(true).build();
    built.map(|built| built.compile_matcher()).map_err(|error| ProvisionError::Glob {
        key,
        glob: glob.to_owned(),
        reason: error.kind().to_string(),
    })
}
