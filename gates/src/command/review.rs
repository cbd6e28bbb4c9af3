//! `gate review RUN|TRACK`, `gate review --regressions`: what is on record, as a page or as text.

mod chosen;
mod link;
mod serve;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use records::record::Record;
use records::review::run::File;
use records::review::text::Style;
use records::review::{self, Page};
use records::store::{External, Store, StoreError};

use super::{CommandError, Context, ReviewArguments};
use crate::chain;
use crate::rule::{Word, exit_status};
use chosen::Chosen;
use link::Place;

/// Columns where nobody says how many there are.
const WIDTH: usize = 110;

/// A page, and whether it could print a word.
struct Made {
    page: Page,
    name: String,
    is_whole: bool,
}

pub(super) fn review(context: &Context, arguments: &ReviewArguments) -> Result<u8, CommandError> {
    let folder = arguments.records.clone().unwrap_or_else(|| context.records_folder());
    let external = External::folder(context.home.evidence_dir());
    let store = Store::open(folder)?.with_external(external);
    let place = match &arguments.out {
        _ if arguments.text => Place::Terminal,
        _ if arguments.serve => Place::Served,
        Some(path) => Place::File(path.clone()),
        None => Place::File(context.home.cache.join("review").join("page.html")),
    };
    let made = made(context, &store, arguments, &place)?;
    let status = if made.is_whole { 0 } else { exit_status(Word::Void) };
    if arguments.text {
        let colour = std::io::stdout().is_terminal();
        super::print(&review::text(&made.page, Style { width: width(), colour }))?;
        return Ok(status);
    }
    let html = review::html(&made.page);
    if arguments.serve {
        serve::serve(&store, &html)?;
        return Ok(status);
    }
    let path = match &arguments.out {
        Some(path) => path.clone(),
        None => context.home.cache.join("review").join(format!("{}.html", made.name)),
    };
    write(&path, &html)?;
    super::print(&format!("{}\n", path.display()))?;
    Ok(status)
}

/// The columns of the terminal, as its user set them.
fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns >= 40)
        .map_or(WIDTH, |columns| columns.min(160))
}

fn write(path: &Path, html: &str) -> Result<(), CommandError> {
    let failed = |source| CommandError::ReviewPage { path: PathBuf::from(path), source };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, html).map_err(failed)
}

fn made(
    context: &Context,
    store: &Store,
    arguments: &ReviewArguments,
    place: &Place,
) -> Result<Made, CommandError> {
    if arguments.regressions {
        let (records, damaged) = chosen::whole(store)?;
        let page = review::history::regressions(&records, &damaged);
        return Ok(Made { page, name: "regressions".to_owned(), is_whole: damaged.is_empty() });
    }
    let target = arguments.target.as_deref().unwrap_or_default();
    match chosen::choose(context, store, target)? {
        Chosen::Run(path) => run(store, &path, place),
        Chosen::Track(track) => {
            let (records, damaged) = chosen::whole(store)?;
            let present = super::gaps::present(context)?;
            let cell = records::gap::derive(&track, &records, &present);
            let is_whole = damaged.is_empty();
            let page =
                review::history::track(&track, &cell, &records, &damaged, &place.base(store));
            Ok(Made { page, name: track.id, is_whole })
        }
    }
}

/// The page of a run. What is not as it was written is named, and no word is taken from it.
fn run(store: &Store, path: &Path, place: &Place) -> Result<Made, CommandError> {
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let refused = |defects: Vec<String>| Made {
        page: review::refusal(&name, &defects),
        name: name.clone(),
        is_whole: false,
    };
    let record: Record = match records::store::read_record(path) {
        Ok(record) => record,
        Err(defect) => return Ok(refused(vec![chain::of(&defect)])),
    };
    let (mut files, mut defects, mut absent) = (Vec::new(), Vec::new(), Vec::new());
    for entry in &record.evidence {
        let name = entry.name.clone();
        match store.evidence(entry) {
            Ok(bytes) => files.push(File { name, bytes, href: place.evidence(store, entry) }),
            Err(StoreError::Absent { .. }) => absent.push(name),
            Err(defect) => defects.push(chain::of(&defect)),
        }
    }
    if !defects.is_empty() {
        return Ok(refused(defects));
    }
    let findings = if !absent.is_empty() {
        crate::review::absent(store, &absent)
    } else if record.series.is_some() {
        review::run::Findings::default()
    } else {
        crate::review::findings(store, &record)?
    };
    let page = review::run::page(&record, &findings, &files, &place.base(store));
    let is_whole = page.headline.word.is_some();
    Ok(Made { page, name, is_whole })
}
