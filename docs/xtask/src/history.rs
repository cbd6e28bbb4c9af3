//! A record is never edited: no commit changes or deletes a file of `records/runs/` or `records/evidence/`.

use crate::defect::Defect;
use crate::workspace::{Workspace, git};

/// What may only grow.
const APPEND_ONLY: [&str; 2] = ["records/runs", "records/evidence"];

/// Looks through the commits that are there, and the working tree. A shallow clone has few: what it lacks it cannot show.
pub fn check(workspace: &Workspace) -> Vec<Defect> {
    let root = &workspace.root;
    let mut defects = Vec::new();
    let mut log = vec![
        "log",
        "--diff-filter=MDT",
        "--no-renames",
        "-m",
        "--name-status",
        "--format=%h",
        "--",
    ];
    let mut tree = vec!["diff", "--diff-filter=MDT", "--no-renames", "--name-status", "HEAD", "--"];
    for arguments in [&mut log, &mut tree] {
        arguments.extend(APPEND_ONLY);
        match git(root, arguments) {
            Ok(text) => defects.extend(changes(&text)),
            Err(error) => defects.push(Defect::new("append only", "records", error)),
        }
    }
    defects
}

/// Whether commits are missing, so that older changes cannot be seen.
pub fn is_shallow(workspace: &Workspace) -> bool {
    let answer = git(&workspace.root, &["rev-parse", "--is-shallow-repository"]);
    answer.is_ok_and(|answer| answer.trim() == "true")
}

/// Each `STATUS<tab>PATH` line, under the commit that stands above it.
fn changes(text: &str) -> Vec<Defect> {
    let mut commit = "the working tree";
    let mut defects = Vec::new();
    for line in text.lines() {
        match line.split_once('\t') {
            Some((_, path)) => {
                let message = format!(
                    "changed or deleted in {commit}: a corrected claim is a new record that supersedes"
                );
                defects.push(Defect::new("append only", path, message));
            }
            None if !line.is_empty() => commit = line,
            None => {}
        }
    }
    defects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_an_edit_and_a_deletion_in_history_and_tree() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let run = |arguments: &[&str]| {
            let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
            git(root, &[&identity[..], arguments].concat()).unwrap()
        };
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let commit = || {
            run(&["add", "--all"]);
            run(&["commit", "--quiet", "--message", "x"]);
        };
        let found = || {
            let mut places: Vec<_> =
                check(&Workspace::open(root).unwrap()).into_iter().map(|d| d.place).collect();
            places.sort();
            places
        };
        run(&["init", "--quiet"]);
        write("records/runs/a.json", "a");
        write("records/evidence/e", "e");
        write("README.md", "r");
        commit();
        write("records/runs/b.json", "b");
        write("README.md", "R");
        commit();
        assert_eq!(found(), Vec::<String>::new(), "adding is fine");
        write("records/evidence/e", "E");
        assert_eq!(found(), ["records/evidence/e"], "seen before it is committed");
        commit();
        std::fs::remove_file(root.join("records/runs/a.json")).unwrap();
        commit();
        assert_eq!(found(), ["records/evidence/e", "records/runs/a.json"]);
        assert!(!is_shallow(&Workspace::open(root).unwrap()));
    }
}
