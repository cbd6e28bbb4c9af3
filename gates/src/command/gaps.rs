//! `gate gaps [--check] [--json]`: the open gaps, from the tracks and the records alone.

use std::collections::BTreeMap;

use oracles::registry::{self, OracleSpec};
use records::gap::{self, OpenGaps, Present};
use records::store::Store;

use super::{CommandError, Context};
use crate::rule::{Word, exit_status};

/// The generated page, relative to the workspace root.
const PAGE: &str = "docs/open-gaps.md";

pub(super) fn gaps(context: &Context, check: bool, as_json: bool) -> Result<u8, CommandError> {
    let root = &context.home.root;
    let tracks = OpenGaps::load(&root.join("open-gaps.toml"))?;
    let records = Store::open(context.records_folder())?.read_all()?;
    let present = Present::of_tree(root, pins(context)?)?;
    if as_json {
        super::print(&gap::render_json(&tracks, &records, &present))?;
        return Ok(0);
    }
    if !check {
        let path = root.join(PAGE);
        std::fs::write(&path, gap::render_markdown(&tracks, &records, &present))
            .map_err(|source| gap::PageError::Io { path: path.clone(), source })?;
        super::print(&format!("wrote {}\n", path.display()))?;
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
            "{PAGE} agrees with {} tracks and {} records\n",
            tracks.tracks.len(),
            records.len()
        ))?;
        return Ok(0);
    }
    super::print(&(complaints.join("\n") + "\n"))?;
    Ok(exit_status(Word::Fail))
}

/// What each registered oracle is pinned to.
fn pins(context: &Context) -> Result<BTreeMap<String, String>, CommandError> {
    let pin = |name: String| {
        let spec = OracleSpec::load(&context.home, &name)?;
        Ok((name, spec.declared.package.archive_sha256))
    };
    registry::names(&context.home)?.into_iter().map(pin).collect()
}
