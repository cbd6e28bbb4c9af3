//! The words of a series, and why some of them are none.

use super::read::{Ended, Evidence};
use super::{gravity, name, told};
use crate::number::{self, digits, percent_off};
use crate::record::Series;
use crate::review::page::{Block, Cell, Fold, Section, Table, Tone};

/// `whose` says whose words they are.
pub(super) fn section(series: &Series, whose: String, evidence: Option<&Evidence<'_>>) -> Section {
    let mut table = Table::new(
        "Every word, in the order of cells, comparisons and axes",
        &[
            "cell",
            "metric",
            "subject / reference",
            "word",
            "ratio#",
            "interval#",
            "medians#",
            "rules",
        ],
    );
    for cell in &series.cells {
        let (ratio, interval) = cell.ratio.map_or_else(
            || ("no number".to_owned(), "–".to_owned()),
            |ratio| {
                (
                    format!("{} ({})", number::ratio(ratio.estimate), percent_off(ratio.estimate)),
                    format!("{} to {}", number::ratio(ratio.low), number::ratio(ratio.high)),
                )
            },
        );
        table.rows.push(vec![
            Cell::new(&cell.cell),
            Cell::code(&cell.metric),
            Cell::new(format!("{} / {}", cell.subject, cell.reference)),
            Cell::word(&cell.word),
            Cell::new(ratio),
            Cell::new(interval),
            Cell::new(cell.medians.map_or_else(
                || "–".to_owned(),
                |medians| format!("{} / {}", digits(medians.subject), digits(medians.reference)),
            )),
            Cell::code(cell.rules.join(" ")),
        ]);
    }
    let mut blocks = vec![Block::Note(Tone::Plain, whose), Block::Table(table)];
    let mut open: Vec<_> = series.cells.iter().filter(|cell| !cell.is_established()).collect();
    open.sort_by_key(|cell| std::cmp::Reverse(gravity(&cell.word)));
    let notes = open.into_iter().map(|cell| {
        Block::Note(
            Tone::of(&cell.word),
            format!("{} is {}: {}", name(cell), cell.word, told(cell)),
        )
    });
    let mut notes: Vec<Block> = notes.collect();
    let more = notes.split_off(notes.len().min(SHOWN));
    blocks.extend(notes);
    if !more.is_empty() {
        blocks.push(Fold::closed(format!("{} more words that are no number", more.len()), more));
    }
    if let Some(evidence) = evidence {
        blocks.extend(discarded(series, evidence));
        blocks.extend(broken(evidence));
    }
    let established = series.cells.iter().filter(|cell| cell.is_established());
    let lines: Vec<Block> = established
        .map(|cell| Block::Text(format!("{} is {}: {}", name(cell), cell.word, told(cell))))
        .collect();
    if lines.len() > SHOWN {
        let summary = format!("What the {} established words rest on", lines.len());
        blocks.push(Fold::closed(summary, lines));
    } else {
        blocks.extend(lines);
    }
    let lead =
        "Ratios are turned so that above 1 is better. Where a rule fired there is no number.";
    Section::new("words", "What is said", Some(lead), blocks)
}

/// Pairs whose clocks were apart.
fn discarded(series: &Series, evidence: &Evidence<'_>) -> Option<Block> {
    let mut table = Table::new(
        "Pairs that are DISCARD: their clocks lie more than 1 % apart, so that a difference would be the clock's",
        &["cell", "subject / reference", "pair#", "mean clock#", "median clock#", "word"],
    );
    let mut seen = Vec::new();
    for cell in &series.cells {
        let key = (&cell.cell, &cell.subject, &cell.reference);
        if seen.contains(&key) {
            continue;
        }
        let Some(compared) = evidence.compared(cell) else { continue };
        seen.push(key);
        for discard in &compared.discarded {
            table.push(|| {
                vec![
                    Cell::new(&cell.cell),
                    Cell::new(format!("{} / {}", cell.subject, cell.reference)),
                    Cell::new(discard.block.to_string()),
                    Cell::new(percent_off(1.0 + discard.clock_mean_off)),
                    Cell::new(percent_off(1.0 + discard.clock_median_off)),
                    Cell::word("DISCARD"),
                ]
            });
        }
    }
    many(table)
}

/// Legs that broke a rule, failed, or were not begun.
fn broken(evidence: &Evidence<'_>) -> Option<Block> {
    let mut table = Table::new(
        "Legs that broke a rule or did not end well",
        &["leg", "arm", "rule", "what happened"],
    );
    for leg in &evidence.legs {
        let Some(outcome) = &leg.outcome else { continue };
        let arm = &evidence.arms[leg.arm];
        let row = |rule: &str, what: &str| {
            vec![Cell::code(&*leg.id), Cell::new(arm), Cell::code(rule), Cell::new(what)]
        };
        match &outcome.ended {
            Ended::Failed(why) => table.push(|| row("failed", why)),
            Ended::Skipped(why) => table.push(|| row("skipped", why)),
            Ended::Measured(_) => {}
        }
        for found in &outcome.violations {
            table.push(|| row(&found.rule, &found.reason));
        }
    }
    many(table)
}

/// Rows of a table that stand on the page openly.
const SHOWN: usize = 8;

/// A table, on demand where it is long; none where it is empty.
fn many(table: Table) -> Option<Block> {
    match table.height() {
        0 => None,
        1..=SHOWN => Some(Block::Table(table)),
        rows => {
            Some(Fold::closed(format!("{}: all {rows}", table.caption), vec![Block::Table(table)]))
        }
    }
}
