//! `gate gaps [--check] [--json]`: the open gaps, from the tracks and the records alone.

use std::collections::BTreeMap;

use oracles::checkpoint::{self, CheckpointSpec, Source};
use oracles::golden;
use oracles::registry::{self, OracleSpec};
use records::gap::{self, OpenGaps, Present};

use super::{CommandError, Context};
use crate::rule::{Word, exit_status};
use crate::spec;
use crate::words::count;

/// The generated page, relative to the workspace root.
const PAGE: &str = "docs/open-gaps.md";

pub(super) fn gaps(context: &Context, check: bool, as_json: bool) -> Result<u8, CommandError> {
    let root = &context.home.root;
    let records = super::records::verified(context)?;
    let tracks = OpenGaps::load(&root.join("open-gaps.toml"))?;
    let present = present(context)?;
    if as_json {
        super::print(&gap::render_json(&tracks, &records, &present))?;
        return Ok(0);
    }
    if !check {
        let path = root.join(PAGE);
        std::fs::write(&path, gap::render_markdown(&tracks, &records, &present))
            .map_err(|source| gap::PageError::Io { path: path.clone(), source })?;
        super::print(&format!(
            "wrote {} from {} and {}\n",
            path.display(),
            count(tracks.tracks.len(), "track", "tracks"),
            count(records.len(), "record", "records")
        ))?;
        return Ok(0);
    }
    let mut complaints: Vec<String> =
        gap::mismatches(&tracks, &records, &present).iter().map(ToString::to_string).collect();
    match gap::check(root, &tracks, &records, &present) {
        Ok(()) => {}
        Err(stale @ gap::PageError::Stale { .. }) => complaints.push(stale.to_string()),
        Err(error) => return Err(error.into()),
    }
    if complaints.is_empty() {
        super::print(&format!(
            "{PAGE} agrees with {} and {}\n",
            count(tracks.tracks.len(), "track", "tracks"),
            count(records.len(), "record", "records")
        ))?;
        return Ok(0);
    }
    super::print(&(complaints.join("\n") + "\n"))?;
    Ok(exit_status(Word::Fail))
}

/// The tree as it is, which records are compared with.
pub(super) fn present(context: &Context) -> Result<Present, CommandError> {
    Ok(Present {
        definitions: definitions(context)?,
        checkpoints: checkpoints(context)?,
        inputs: inputs(context)?,
        goldens: goldens(context)?,
        ..Present::of_tree(&context.home.root, pins(context)?)?
    })
}

/// What each registered oracle is pinned to.
fn pins(context: &Context) -> Result<BTreeMap<String, String>, CommandError> {
    let pin = |name: String| {
        let spec = OracleSpec::load(&context.home, &name)?;
        Ok((name, spec.declared.package.archive_sha256))
    };
    registry::names(&context.home)?.into_iter().map(pin).collect()
}

/// How each registered oracle is defined.
fn definitions(context: &Context) -> Result<BTreeMap<String, String>, CommandError> {
    let define = |name: String| {
        let spec = OracleSpec::load(&context.home, &name)?;
        Ok((name, spec.definition_sha256(&context.home).map_err(oracles::Error::from)?))
    };
    registry::names(&context.home)?.into_iter().map(define).collect()
}

/// What each declared checkpoint is pinned to. A folder from a hub has no single digest in its declaration, and no entry.
fn checkpoints(context: &Context) -> Result<BTreeMap<String, String>, CommandError> {
    let mut pins = BTreeMap::new();
    for name in checkpoint::names(&context.home)? {
        let sha256 = match CheckpointSpec::load(&context.home, &name)?.source {
            Source::Package(source) => source.sha256,
            Source::Local(source) => source.sha256,
            Source::Synthetic(source) => source.sha256,
            Source::Converted(source) => source.sha256,
            Source::Hub(_) => continue,
        };
        pins.insert(name, sha256);
    }
    Ok(pins)
}

/// The digest of each gate's inputs file.
fn inputs(context: &Context) -> Result<BTreeMap<String, String>, CommandError> {
    let root = &context.home.root;
    let mut digests = BTreeMap::new();
    for name in spec::names(root)? {
        if let Some(path) = spec::load(root, &name)?.spec.inputs {
            let path = root.join(path);
            let digest = records::sha256_file(&path)
                .map_err(|source| CommandError::Inputs { path, source })?;
            digests.insert(name, digest);
        }
    }
    Ok(digests)
}

/// The digest of each gate's golden, where it is whole. One that is not equals none that a record names.
fn goldens(context: &Context) -> Result<BTreeMap<String, String>, CommandError> {
    let mut digests = BTreeMap::new();
    for name in spec::names(&context.home.root)? {
        let Some(oracle) = spec::load(&context.home.root, &name)?.spec.oracle else { continue };
        match golden::manifest(&context.home, &oracle, &name) {
            Ok(Some((_, sha256))) => drop(digests.insert(name, sha256)),
            Ok(None) => {}
            Err(_) => drop(digests.insert(name, "not as it was captured".to_owned())),
        }
    }
    Ok(digests)
}
