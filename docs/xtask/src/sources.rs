//! Rules on single source files: each opens with its purpose, stays short, and keeps `unsafe` where it belongs.

use crate::defect::Defect;
use crate::masked::masked;
use crate::workspace::Workspace;

/// Lines that a file may have.
pub const FILE_LINES: usize = 600;
/// Lines that a model family may have: shapes and wiring only.
pub const MODEL_LINES: usize = 150;
/// Files that are longer, with the length they may not pass. The list may only shrink: an entry that is no longer needed is red.
const LONGER: &[(&str, usize)] = &[];
/// The files outside `kernels/` that may say `unsafe`: one maps a checkpoint into memory, one calls the C library's scheduler.
const UNSAFE_FILES: [&str; 2] = ["engine/src/checkpoint/file_bytes.rs", "grids/src/pinning.rs"];
/// How many lines above an `unsafe` block its reason may start.
const SAFETY_REACH: usize = 12;

/// Every Rust file starts with `//!`.
pub fn purpose(workspace: &Workspace) -> Vec<Defect> {
    let without = workspace.ending(".rs").filter(|path| !workspace.text(path).starts_with("//!"));
    without
        .map(|path| {
            Defect::new("purpose", path.clone(), "starts without `//!`: say what it is for").at(1)
        })
        .collect()
}

/// Files and models stay within their limits.
pub fn length(workspace: &Workspace) -> Vec<Defect> {
    let lengths =
        workspace.ending(".rs").map(|path| (path.as_str(), workspace.text(path).lines().count()));
    too_long(&lengths.collect::<Vec<_>>(), LONGER)
}

fn too_long(lengths: &[(&str, usize)], longer: &[(&str, usize)]) -> Vec<Defect> {
    let mut defects = Vec::new();
    for &(path, lines) in lengths {
        let is_model = path.starts_with("engine/src/models/");
        let listed = longer.iter().find(|(name, _)| *name == path).map(|(_, lines)| *lines);
        let limit = listed.unwrap_or(if is_model { MODEL_LINES } else { FILE_LINES });
        if lines > limit {
            let message = format!("{lines} lines, at most {limit}: split it by responsibility");
            defects.push(Defect::new("length", path, message));
        }
    }
    for (path, _) in longer {
        let lines = lengths.iter().find(|(name, _)| name == path).map_or(0, |(_, lines)| *lines);
        if lines <= FILE_LINES {
            let message =
                "listed as too long and no longer is: take it off docs/xtask/src/sources.rs";
            defects.push(Defect::new("length", *path, message));
        }
    }
    defects
}

/// `unsafe` stands only in `kernels/` and the file that maps checkpoints, and each block says why it is sound.
pub fn unsafety(workspace: &Workspace) -> Vec<Defect> {
    workspace.ending(".rs").flat_map(|path| unsafe_defects(path, &workspace.text(path))).collect()
}

fn unsafe_defects(path: &str, source: &str) -> Vec<Defect> {
    let code = masked(source);
    let lines: Vec<&str> = source.lines().collect();
    let mut defects = Vec::new();
    for (index, code) in code.lines().enumerate() {
        let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        if !words.any(|word| word == "unsafe") {
            continue;
        }
        if !path.starts_with("kernels/") && !UNSAFE_FILES.contains(&path) {
            let message = format!("`unsafe` outside kernels/ and {}", UNSAFE_FILES.join(", "));
            defects.push(Defect::new("unsafe", path, message).at(index + 1));
        }
        let above = &lines[index.saturating_sub(SAFETY_REACH)..=index];
        let is_block = code.contains("unsafe {") || code.contains("unsafe impl");
        if is_block && !above.iter().any(|line| line.contains("SAFETY")) {
            let message = "`unsafe` without `// SAFETY:` above it";
            defects.push(Defect::new("unsafe", path, message).at(index + 1));
        }
    }
    defects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_long_files_and_stale_exceptions() {
        let lengths =
            [("a.rs", 600), ("b.rs", 601), ("engine/src/models/x.rs", 151), ("c.rs", 700)];
        let found = |longer: &[(&str, usize)]| {
            too_long(&lengths, longer).iter().map(|d| d.place.clone()).collect::<Vec<_>>()
        };
        assert_eq!(found(&[]), ["b.rs", "engine/src/models/x.rs", "c.rs"]);
        assert_eq!(found(&[("c.rs", 700)]), ["b.rs", "engine/src/models/x.rs"]);
        assert_eq!(found(&[("c.rs", 699)]), ["b.rs", "engine/src/models/x.rs", "c.rs"]);
        assert_eq!(found(&[("c.rs", 700), ("a.rs", 700), ("gone.rs", 700)]).len(), 4);
    }

    #[test]
    fn finds_unsafe_in_code_and_not_in_words() {
        let count = |path, source| unsafe_defects(path, source).len();
        let block = "// SAFETY: checked above\nunsafe { f() }\n";
        assert_eq!(count("kernels/src/dot.rs", block), 0);
        assert_eq!(count("engine/src/model.rs", block), 1);
        assert_eq!(UNSAFE_FILES.map(|file| count(file, block)), [0, 0]);
        assert_eq!(count("kernels/src/dot.rs", "unsafe { f() }"), 1);
        assert_eq!(
            count("engine/src/model.rs", "// unsafe\nlet a = \"unsafe\"; unsafe_code();"),
            0
        );
    }
}
