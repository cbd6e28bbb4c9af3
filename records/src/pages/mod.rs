//! The pages that are derived from the records: `docs/open-gaps.md`, `docs/benchmark-record.md` and one page a track.
//!
//! Words and numbers come from the store alone. The same tracks, records and tree give the same bytes, so that CI compares them.
//! An entry is cut where it is too long, a file never is.

mod benchmark;
mod markdown;
mod summary;
mod track;

use std::path::{Path, PathBuf};

pub use benchmark::ENTRIES;
pub use summary::{annotations, summary};

use crate::gap::page::{GENERATED, compare, markdown as open_gaps};
use crate::gap::{Cell, OpenGaps, PAGE, PageError};
use crate::record::Record;

/// The page of all valid speed numbers, below the workspace root.
pub const BENCHMARK: &str = "docs/benchmark-record.md";
/// The folder of the tracks' pages.
pub const TRACKS: &str = "docs/tracks";
/// A generated page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Where it lies below the workspace root.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// All pages, in the order of their writing. `cells` are what [`crate::gap::cells`] derives from the same records.
pub fn all(gaps: &OpenGaps, cells: &[Cell], records: &[Record]) -> Vec<Page> {
    let mut records: Vec<&Record> = records.iter().collect();
    records.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
    let corrections = markdown::Corrections::of(&records);
    let benchmark = benchmark::render(gaps, &records, &corrections);
    let mut pages = vec![
        Page { path: PAGE.to_owned(), text: open_gaps(gaps, cells) },
        Page { path: BENCHMARK.to_owned(), text: benchmark },
    ];
    pages.extend(gaps.tracks.iter().zip(cells).map(|(track, cell)| Page {
        path: format!("{TRACKS}/{:02}-{}.md", track.row, track.id),
        text: track::render(track, cell, &records, &corrections),
    }));
    pages
}

/// Writes the pages below `root`, and removes the generated page of a track that is no more.
pub fn write(root: &Path, pages: &[Page]) -> Result<(), PageError> {
    let error = |path: &Path| {
        let path = path.to_owned();
        move |source| PageError::Write { path, source }
    };
    let folder = root.join(TRACKS);
    std::fs::create_dir_all(&folder).map_err(error(&folder))?;
    for page in pages {
        let path = root.join(&page.path);
        std::fs::write(&path, &page.text).map_err(error(&path))?;
    }
    for path in strays(root, pages) {
        std::fs::remove_file(&path).map_err(error(&path))?;
    }
    Ok(())
}

/// Compares the pages below `root` byte for byte; names each that is not what it should be, and each page of no track.
pub fn check(root: &Path, pages: &[Page]) -> Vec<PageError> {
    let stale = pages.iter().filter_map(|page| compare(&root.join(&page.path), &page.text).err());
    stale.chain(strays(root, pages).into_iter().map(|path| PageError::Stray { path })).collect()
}

/// Generated files in the folder of the tracks that no track has. What a person wrote there is not ours to judge.
fn strays(root: &Path, pages: &[Page]) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root.join(TRACKS)) else { return Vec::new() };
    let ours = |path: &PathBuf| pages.iter().any(|page| root.join(&page.path) == *path);
    let generated = |path: &PathBuf| {
        std::fs::read_to_string(path).is_ok_and(|text| text.starts_with(GENERATED))
    };
    let mut strays: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| !ours(path) && generated(path))
        .collect();
    strays.sort_unstable();
    strays
}
