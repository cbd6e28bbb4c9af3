//! What a CI job shows: how many tracks carry each word, and the words that got worse.

use std::fmt::Write as _;

use crate::gap::page::{CELL_LIMIT, PAGE, capped, counts, format_row};
use crate::gap::{Cell, Worse};

/// The summary in Markdown. `since` is the revision that was compared with, and what got worse since.
pub fn summary(cells: &[Cell], since: Option<(&str, &[Worse<'_>])>) -> String {
    let mut text = format!("## Open gaps\n\n{}\n", counts(cells));
    let Some((base, worse)) = since else { return text };
    if worse.is_empty() {
        let _ = write!(text, "\nNo word got worse since `{base}`.\n");
        return text;
    }
    let _ = write!(
        text,
        "\n### Words that got worse since `{base}`\n\n| Track | Before | Now | Why | Next gate |\n|---|---|---|---|---|\n"
    );
    for Worse { track, before, now } in worse {
        text.push_str(&format_row(&[
            &format!("{}. {}", track.row, track.title),
            before.as_str(),
            now.word.as_str(),
            &capped(&now.why, CELL_LIMIT),
            &capped(&now.next, CELL_LIMIT),
        ]));
    }
    text
}

/// A `::warning` line for each word that got worse, in the form that a hosted runner shows beside the change.
pub fn annotations(worse: &[Worse<'_>]) -> String {
    let line = |Worse { track, before, now }: &Worse<'_>| {
        let title = format!("track {} {}", track.row, track.id);
        let message = format!("{before} became {}: {}", now.word, now.why);
        format!("::warning file={PAGE},title={}::{}\n", property(&title), escaped(&message))
    };
    worse.iter().map(line).collect()
}

/// A message: the characters that would end or open a command are written by their numbers.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The same for a property, which a colon or a comma would end.
fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}
