//! Lines of a terminal: wrapped, aligned, and free of what a terminal would obey.

use super::Style;
use crate::cut;
use crate::review::html::escape::turns;
use crate::review::page::{Cell, Table};

/// Rows of a table that a terminal shows.
const MOST_ROWS: usize = 24;
/// Blanks between columns.
const GAP: usize = 2;
/// The least width that a column is cut to.
const LEAST: usize = 12;

/// The text without control characters: evidence must not speak to a terminal.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || turns(c) { ' ' } else { c }).collect()
}

/// The text cut to a width.
pub(super) fn cells(text: &str, width: usize) -> String {
    cut(&clean(text), width)
}

/// The text in lines of at most `width`, each after `indent`. A word that is longer than a line stays whole.
pub(super) fn wrapped(text: &str, width: usize, indent: &str) -> Vec<String> {
    let room = width.saturating_sub(indent.chars().count()).max(20);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in clean(text).split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            lines.push(format!("{indent}{line}"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    if !line.is_empty() {
        lines.push(format!("{indent}{line}"));
    }
    lines
}

/// Labels and values, aligned.
pub(super) fn facts(facts: &[(String, Cell)], width: usize) -> Vec<String> {
    let label = facts.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let indent = " ".repeat(label + 4);
    let mut lines = Vec::new();
    for (name, value) in facts {
        let told = wrapped(&value.text, width, &indent);
        let first = told.first().map_or("", |line| line.trim_start());
        lines.push(format!("  {:<label$}  {first}", clean(name)));
        lines.extend(told.into_iter().skip(1));
    }
    lines
}

/// A table, aligned; its widest column wraps.
pub(super) fn table(table: &Table, style: Style) -> Vec<String> {
    let rows = &table.rows[..table.rows.len().min(MOST_ROWS)];
    let mut widths: Vec<usize> =
        table.columns.iter().map(|column| column.title.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(clean(&cell.text).chars().count() + sign(cell).map_or(0, |_| 2));
        }
    }
    let room = style.width.saturating_sub(2 + GAP * widths.len().saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > LEAST) else { break };
        *widest -= 1;
    }
    let mut lines = Vec::new();
    if table.columns.iter().any(|column| !column.title.is_empty()) {
        let header: Vec<Cell> =
            table.columns.iter().map(|column| Cell::new(&column.title)).collect();
        lines.extend(row(table, &header, &widths, style));
    }
    for cells in rows {
        lines.extend(row(table, cells, &widths, style));
    }
    if table.height() > rows.len() {
        let place = if table.left_out > 0 { "in the evidence" } else { "on the page" };
        lines.push(format!("  … {} more rows {place}", table.height() - rows.len()));
    }
    lines
}

fn sign(cell: &Cell) -> Option<&'static str> {
    cell.tone.map(crate::review::page::Tone::sign).or(cell.differs.then_some("≠"))
}

/// One row, over as many lines as its longest cell needs.
fn row(table: &Table, row: &[Cell], widths: &[usize], style: Style) -> Vec<String> {
    let parts: Vec<Vec<String>> =
        row.iter().zip(widths).map(|(cell, width)| pieces(cell, *width)).collect();
    let height = parts.iter().map(Vec::len).max().unwrap_or(0);
    let mut lines = Vec::with_capacity(height);
    for place in 0..height {
        let mut line = String::from("  ");
        for (at, (part, width)) in parts.iter().zip(widths).enumerate() {
            let text = part.get(place).map_or("", String::as_str);
            let numeric = table.columns.get(at).is_some_and(|column| column.is_numeric);
            let blanks = " ".repeat(width.saturating_sub(text.chars().count()));
            let text = match row.get(at).and_then(|cell| cell.tone) {
                Some(tone) => style.tone(tone, text),
                None => text.to_owned(),
            };
            line += &if numeric { blanks + &text } else { text + &blanks };
            line += &" ".repeat(GAP);
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// The lines of a cell: wrapped at words, and cut where a word is wider than its column.
fn pieces(cell: &Cell, width: usize) -> Vec<String> {
    let text = sign(cell).map_or_else(|| cell.text.clone(), |sign| format!("{sign} {}", cell.text));
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in clean(&text).split(' ').filter(|word| !word.is_empty()) {
        let word: Vec<char> = word.chars().collect();
        for part in word.chunks(width.max(1)) {
            if !line.is_empty() && line.chars().count() + 1 + part.len() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.extend(part);
        }
    }
    lines.push(line);
    lines
}
