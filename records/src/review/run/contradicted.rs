//! The page of a record that its evidence contradicts. Both are as they were written and one of them is wrong, so no word, number
//! or reason of either is printed: only what contradicts what, and where to look.

use super::File;
use super::evidence;
use crate::record::Record;
use crate::review::page::{Block, Cell, Headline, Page, Section, Table, Tone};

/// The page; `differences` are sentences, each of one thing that the record says otherwise.
pub(super) fn page(record: &Record, differences: &[String], files: &[File], base: &str) -> Page {
    let mut table = Table::new("What contradicts what", &["contradiction"]);
    table.rows = differences.iter().map(|difference| vec![Cell::new(difference)]).collect();
    let todo = format!(
        "`gate records show {}` prints what the record says, `{}` what its evidence gives. Neither is a word until a new run is \
         on record that supersedes this one.",
        record.id,
        evidence::derived_by(record)
    );
    let lead = "Every file is as it was written: its hash matches. What they say does not.";
    Page {
        title: record.gate.clone(),
        kicker: super::kicker(record),
        headline: Headline {
            word: None,
            tone: Tone::Void,
            reason: "The record says otherwise than its own evidence, so no word and no number is printed from either."
                .to_owned(),
            answers: vec![("What to do".to_owned(), todo)],
            reproduce: None,
        },
        sections: vec![
            Section::new("contradictions", "What contradicts what", Some(lead), vec![Block::Table(table)]),
            Section::new("evidence", "Evidence", None, evidence::listed(record, files, base)),
        ],
        footer: super::footer(record),
    }
}
