//! The rules hold over this workspace: `cargo test --workspace` is enough to notice.

use xtask::RULES;
use xtask::workspace::Workspace;

#[test]
fn the_workspace_is_tidy() {
    let workspace = Workspace::ours().unwrap();
    assert!(workspace.files.len() > 50, "git lists the files of the workspace");
    let defects: Vec<String> = RULES
        .iter()
        .flat_map(|(_, check)| check(&workspace))
        .map(|defect| defect.to_string())
        .collect();
    assert!(defects.is_empty(), "{}", defects.join("\n"));
}
