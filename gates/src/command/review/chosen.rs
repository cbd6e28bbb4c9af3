//! What a person means by the name that they gave.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use records::gap::{OpenGaps, Track};
use records::record::Record;
use records::store::{Audit, Store, StoreError};

use crate::chain;
use crate::command::{CommandError, Context};

/// A run or a track.
pub(super) enum Chosen {
    /// The file of a record, read by nobody yet.
    Run(PathBuf),
    /// A track.
    Track(Box<Track>),
}

/// `latest:GATE`, what one id of a record begins with, or the id of a track.
pub(super) fn choose(context: &Context, store: &Store, name: &str) -> Result<Chosen, CommandError> {
    let files = store.run_files()?;
    if let Some(gate) = name.strip_prefix("latest:") {
        let newest = files.iter().rev().find(|path| gate_of(path) == Some(gate));
        return newest
            .cloned()
            .map(Chosen::Run)
            .ok_or_else(|| CommandError::NoRun(gate.to_owned()));
    }
    let begin = |path: &&PathBuf| !name.is_empty() && stem(path).starts_with(name);
    let found: Vec<&PathBuf> = files.iter().filter(begin).collect();
    match found.as_slice() {
        [one] => Ok(Chosen::Run((*one).clone())),
        [] => track(context, name),
        [first, .., last] => Err(CommandError::Several {
            name: name.to_owned(),
            count: found.len(),
            first: stem(first).to_owned(),
            last: stem(last).to_owned(),
        }),
    }
}

/// A track by its id. Records can be reviewed where there are no tracks, as in a copied store.
fn track(context: &Context, name: &str) -> Result<Chosen, CommandError> {
    let path = context.home.root.join("open-gaps.toml");
    let tracks = if path.exists() { OpenGaps::load(&path)?.tracks } else { Vec::new() };
    let found = tracks.into_iter().find(|track| track.id == name);
    found
        .map(|track| Chosen::Track(Box::new(track)))
        .ok_or_else(|| CommandError::NotReviewed(name.to_owned()))
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// GATE of `DATE-GATE-HASH`.
fn gate_of(path: &Path) -> Option<&str> {
    Some(stem(path).split_once('-')?.1.rsplit_once('-')?.0)
}

/// Every record that is as it was written with all of its evidence, and what is wrong with the others.
pub(super) fn whole(store: &Store) -> Result<(Vec<Record>, Vec<String>), CommandError> {
    let Audit { records, defects, .. } = store.audit()?;
    let damaged: BTreeSet<&Path> = defects.iter().filter_map(StoreError::path).collect();
    let is_whole = |record: &Record| {
        let mut files = record.evidence.iter().map(|entry| store.evidence_file(entry));
        !files.any(|file| damaged.contains(file.as_path()))
    };
    let records = records.into_iter().map(|kept| kept.record).filter(is_whole).collect();
    Ok((records, defects.iter().map(|defect| chain::of(defect)).collect()))
}
