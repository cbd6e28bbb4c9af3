//! A table is read across: its cells stay short, in every Markdown page.

use crate::defect::Defect;
use crate::workspace::Workspace;

/// Characters that a cell may have.
pub const CELL: usize = 220;

/// Looks at every Markdown file.
pub fn check(workspace: &Workspace) -> Vec<Defect> {
    workspace.ending(".md").flat_map(|path| long_cells(path, &workspace.text(path))).collect()
}

fn long_cells(path: &str, text: &str) -> Vec<Defect> {
    let mut defects = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| line.starts_with('|')) {
        for cell in line.replace("\\|", " ").split('|') {
            let length = cell.trim().chars().count();
            if length > CELL {
                let message = format!("a cell of {length} characters, at most {CELL}");
                defects.push(Defect::new("table cells", path, message).at(index + 1));
            }
        }
    }
    defects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_long_cell() {
        let long = "x".repeat(CELL + 1);
        let fits = "x".repeat(CELL);
        let text = format!("{long}\n| a | {fits} |\n| {long} | b |\n");
        let found = long_cells("a.md", &text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, Some(3));
    }
}
