//! The page of a record that is not what was written: it names every defect and prints no word.

use super::page::{Block, Cell, Headline, Page, Section, Table, Tone};

/// The page for `what`, whose files have these defects.
pub fn refusal(what: &str, defects: &[String]) -> Page {
    let mut table = Table::new("What is wrong", &["defect"]);
    table.rows = defects.iter().map(|defect| vec![Cell::code(defect)]).collect();
    let mend = "restore the files from version control, then ask again; `gate records verify` checks all of them";
    Page {
        title: what.to_owned(),
        kicker: "Review of a run".to_owned(),
        headline: Headline {
            word: None,
            tone: Tone::Void,
            reason:
                "The record or its evidence is not what was written, so no word is printed from it."
                    .to_owned(),
            answers: vec![("What to do".to_owned(), mend.to_owned())],
            reproduce: None,
        },
        sections: vec![Section::new("defects", "What is wrong", None, vec![Block::Table(table)])],
        footer: "Nothing on this page was read from what the damaged files say.".to_owned(),
    }
}
