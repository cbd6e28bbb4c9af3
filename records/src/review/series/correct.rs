//! Whether arms answer right: what they have to show, and how far they answered the same.

use super::read::Evidence;
use crate::record::Series;
use crate::review::page::{Block, Cell, Section, Table, Tone};

pub(super) fn section(series: &Series, evidence: &Evidence<'_>, base: &str) -> Section {
    let mut blocks = Vec::new();
    match &evidence.correctness {
        None => blocks.push(Block::Note(
            Tone::Open,
            "correct.json is not among its files: nothing is shown of any arm.".to_owned(),
        )),
        Some(found) => {
            let mut table = Table::new(
                "Gates that an arm passed with the same sources and checkpoint",
                &["arm", "gate", "record"],
            );
            for certificate in &found.certificates {
                table.rows.extend(certificate.passed.iter().map(|(gate, record)| {
                    let record = Cell::code(record).to(format!("{base}runs/{record}.json"));
                    vec![Cell::new(&certificate.arm), Cell::code(gate), record]
                }));
            }
            if !table.rows.is_empty() {
                blocks.push(Block::Table(table));
            }
            blocks.extend(found.standing.values().flatten().map(|broken| {
                Block::Note(Tone::Void, format!("{}: {}", broken.rule, broken.reason))
            }));
        }
    }
    blocks.extend(answers(series));
    let lead = "A speed counts only where the arm answers right: its gates passed on the same sources and checkpoint.";
    Section::new("answers", "Who answers right", Some(lead), blocks)
}

/// How far both arms of each comparison answered the same, where answers were kept.
fn answers(series: &Series) -> Option<Block> {
    let mut table =
        Table::new("Answers beside each other", &["cell", "subject / reference", "answers"]);
    for cell in &series.cells {
        let Some(answers) = &cell.answers else { continue };
        let row = vec![
            Cell::new(&cell.cell),
            Cell::new(format!("{} / {}", cell.subject, cell.reference)),
            Cell::new(answers),
        ];
        // Every axis of a comparison carries the same line.
        if table.rows.last() != Some(&row) {
            table.rows.push(row);
        }
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}
