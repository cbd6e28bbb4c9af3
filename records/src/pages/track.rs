//! The page of one track: where it stands, and every record of its gates in the order of time.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::BENCHMARK;
use super::markdown::{Corrections, date, link, sources};
use crate::gap::page::{CELL_LIMIT, GENERATED, capped, entry, format_row, letter};
use crate::gap::state::by_hand;
use crate::gap::{Cell, Track, takes_back};
use crate::record::{Record, VerdictWord};

/// How many folders the page lies below the root.
const DEPTH: usize = 2;

pub(super) fn render(
    track: &Track,
    cell: &Cell,
    records: &[&Record],
    corrections: &Corrections<'_>,
) -> String {
    let mut page = format!(
        "{GENERATED}\n\n\
         # {}. {} ({})\n\n{}\n**{}** {}\n\nNext gate: {}\n\n## History\n\n",
        track.row,
        track.title,
        letter(track),
        entry(track),
        cell.word,
        cell.why,
        cell.next
    );
    let gates: BTreeSet<&str> = track.all_gates().collect();
    let history: Vec<&&Record> =
        records.iter().filter(|record| gates.contains(record.gate.as_str())).collect();
    if history.is_empty() {
        page.push_str("No record: nothing was run.\n");
        return page;
    }
    let (runs, last) = (history.len(), BENCHMARK.rsplit('/').next().unwrap_or(BENCHMARK));
    let _ = write!(
        page,
        "Every run of its gates, oldest first ({runs}). What was found wrong stays, with its correction below it. Speed numbers \
         are in [{last}](../{last}).\n\n\
         | Date (UTC) | Gate | Word | Compared | Why | Sources | Record |\n|---|---|---|--:|---|---|---|\n"
    );
    for record in history {
        page.push_str(&row(record, &date(record), &why(record)));
        for correction in corrections.of_record(record) {
            page.push_str(&insertion(correction, record));
        }
    }
    page
}

fn row(record: &Record, date: &str, why: &str) -> String {
    let word = record.verdict.word.as_str();
    let compared = record.compared.to_string();
    let (sources, link) = (sources(record), link(record, DEPTH));
    format_row(&[date, &record.gate, word, &compared, &capped(why, CELL_LIMIT), &sources, &link])
}

/// A correction, beside the entry that it corrects.
fn insertion(correction: &Record, wrong: &Record) -> String {
    let has_word = matches!(correction.verdict.word, VerdictWord::Pass | VerdictWord::Fail);
    let what = match (takes_back(correction, wrong), by_hand(correction)) {
        (true, _) if has_word => "corrects the entry above",
        (true, _) => "takes the entry above back and puts no word in its place",
        (false, Some(_)) => "would correct the entry above, but was led by hand, so it does not",
        (false, None) => {
            "would correct the entry above, but has no word to put in its place, so it does not"
        }
    };
    let why = format!("{what}: {}", correction.verdict.reason);
    row(correction, &format!("↳ {}", date(correction)), &why)
}

/// The reason with the rules that fired, and whether the run decides anything.
fn why(record: &Record) -> String {
    let mut why = record.verdict.reason.clone();
    if !record.verdict.rules.is_empty() {
        why = format!("{}: {why}", record.verdict.rules.join(", "));
    }
    if let Some(how) = by_hand(record) {
        why = format!("({how}, decides nothing) {why}");
    }
    why
}
