//! `gate gaps`: the pages that are derived from the tracks and the records alone.

use std::path::PathBuf;

use clap::Args;
use records::gap::{self, OpenGaps, PageError, Present};
use records::{Record, pages};

use super::{CommandError, Context, ci};
use crate::chain;
use crate::rule::{Word, exit_status};
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
    let cells = gap::cells(&tracks, &records, &present);
    let pages = pages::all(&tracks, &cells, &records);
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
        ci::tell(context, (&tracks, &cells), base, summary, arguments.annotate)?;
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
    Ok(oracles::present::present(&context.home)?)
}
