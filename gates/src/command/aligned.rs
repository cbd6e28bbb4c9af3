//! A table in which a row is a line: columns are as wide as their widest cell, and the last is cut at the terminal's edge.

use records::cut;

/// Blanks between two columns.
const GAP: usize = 2;
/// What is left of the last column on a narrow terminal.
const LEAST: usize = 20;

/// A table that is being filled.
pub(super) struct Aligned {
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

impl Aligned {
    /// With this head; an empty one is not printed.
    pub(super) fn new(head: &[&str]) -> Self {
        let rows = vec![head.iter().map(|cell| (*cell).to_owned()).collect()];
        Self { rows, right: Vec::new() }
    }

    /// Sets these columns to the right: numbers.
    #[must_use]
    pub(super) fn right(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        for column in columns {
            if self.right.len() <= column {
                self.right.resize(column + 1, false);
            }
            self.right[column] = true;
        }
        self
    }

    /// Adds a row. Line breaks inside a cell would break the table, and become blanks.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let plain = |cell: String| cell.replace(['\n', '\r', '\t'], " ");
        self.rows.push(cells.into_iter().map(plain).collect());
    }

    /// The lines, indented, each with its end; `width` is the terminal's, if it is one.
    pub(super) fn text(&self, indent: &str, width: Option<usize>) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        let before: usize = widths.iter().take(columns.saturating_sub(1)).map(|w| w + GAP).sum();
        let room = width.map(|width| width.saturating_sub(indent.len() + before).max(LEAST));
        let mut text = String::new();
        for row in self.rows.iter().filter(|row| !row.is_empty()) {
            let mut line = indent.to_owned();
            for (column, cell) in row.iter().enumerate() {
                let is_last = column + 1 == columns;
                let room = room.filter(|_| is_last);
                let cell = room.map_or_else(|| cell.clone(), |room| cut(cell, room));
                let blanks = widths[column].saturating_sub(cell.chars().count());
                if self.right.get(column) == Some(&true) {
                    line.extend(std::iter::repeat_n(' ', blanks));
                    line.push_str(&cell);
                } else {
                    line.push_str(&cell);
                    line.extend(std::iter::repeat_n(' ', blanks));
                }
                line.extend(std::iter::repeat_n(' ', GAP));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_right_and_the_last_column_is_cut_at_the_edge() {
        let mut table = Aligned::new(&["gate", "n", "why"]).right([1]);
        table.row(["tokens".into(), "9".into(), "a reason\nof two lines, and long".into()]);
        table.row(["b".into(), "10".into(), "short".into()]);
        let whole =
            "gate     n  why\ntokens   9  a reason of two lines, and long\nb       10  short\n";
        assert_eq!(table.text("", None), whole);
        let narrow = "gate     n  why\ntokens   9  a reason of two lin…\nb       10  short\n";
        assert_eq!(table.text("", Some(30)), narrow);
    }
}
