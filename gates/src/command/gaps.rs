//! `gate gaps`: the pages that are derived from the tracks and the records alone.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use oracles::checkpoint::{self, CheckpointSpec, Source};
use oracles::golden;
use oracles::registry::{self, OracleSpec};
use records::gap::{self, OpenGaps, PageError, Present};
use records::{Record, pages};

use super::{CommandError, Context, ci};
use crate::chain;
use crate::rule::{Word, exit_status};
use crate::spec;
use crate::words::count;

/// What `gate gaps` is given.
#[derive(Debug, Args)]
pub(super) struct GapsArguments {
    /// Fail when a page is stale or the failing gates are not those that open-gaps.toml lists; write no page
    #[arg(long)]
    check: bool,
    /// Print the tracks as JSON instead of writing the pages
    #[arg(long, conflicts_with_all = ["check", "summary", "annotate"])]
    json: bool,
    /// Also write a Markdown summary of the words for a CI job
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Print a `::warning` line for each word that got worse since --base
    #[arg(long, requires = "base")]
    annotate: bool,
    /// The git revision whose words are compared with
    #[arg(long, value_name = "REV")]
    base: Option<String>,
}

pub(super) fn gaps(context: &Context, arguments: &GapsArguments) -> Result<u8, CommandError> {
    let root = &context.home.root;
    let records = super::records::verified(context)?;
    let tracks = OpenGaps::load(&root.join("open-gaps.toml"))?;
    let present = present(context)?;
    if arguments.json {
        super::print(&gap::render_json(&tracks, &records, &present))?;
        return Ok(0);
    }
    let pages = pages::all(&tracks, &records, &present);
    let status = if arguments.check {
        check(context, &pages, &tracks, &records, &present)?
    } else {
        pages::write(root, &pages)?;
        super::print(&format!("wrote {}\n", from(&pages, &tracks, &records)))?;
        0
    };
    if arguments.summary.is_some() || arguments.base.is_some() {
        let base = arguments.base.as_deref();
        let summary = arguments.summary.as_deref();
        ci::tell(context, (&tracks, &records, &present), base, summary, arguments.annotate)?;
    }
    Ok(status)
}

/// `77 pages from 75 tracks and 72 records`.
fn from(pages: &[pages::Page], tracks: &OpenGaps, records: &[Record]) -> String {
    format!(
        "{} from {} and {}",
        count(pages.len(), "page", "pages"),
        count(tracks.tracks.len(), "track", "tracks"),
        count(records.len(), "record", "records")
    )
}

/// Compares the pages and the list of failing gates with the records; each disagreement is named.
fn check(
    context: &Context,
    pages: &[pages::Page],
    tracks: &OpenGaps,
    records: &[Record],
    present: &Present,
) -> Result<u8, CommandError> {
    let mut complaints: Vec<String> =
        gap::mismatches(tracks, records, present).iter().map(ToString::to_string).collect();
    for error in pages::check(&context.home.root, pages) {
        match error {
            // A page that was never written is stale; one that cannot be read is an error of the machine.
            PageError::Io { ref source, .. } if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(error.into());
            }
            error => complaints.push(chain::of(&error)),
        }
    }
    if complaints.is_empty() {
        super::print(&format!("as derived: {}\n", from(pages, tracks, records)))?;
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
