//! `gate gaps [--check] [--json]`: the open gaps, from the tracks and the records alone.

use records::gap::{self, OpenGaps, Present};

use super::{CommandError, Context};
use crate::rule::{Word, exit_status};
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
    Ok(oracles::present::present(&context.home)?)
}
