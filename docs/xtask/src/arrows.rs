//! The arrows of ARCHITECTURE.md: who may depend on whom inside the workspace, tests and build scripts included.

use std::collections::BTreeMap;

use cargo_metadata::MetadataCommand;

use crate::defect::Defect;
use crate::workspace::Workspace;

/// Each of our crates and what it may depend on. The instrument does not link what it measures: none of `records`, `oracles`,
/// `gates` and `grids` may reach `engine` or `kernels`.
const ALLOWED: [(&str, &[&str]); 7] = [
    ("kernels", &[]),
    ("engine", &["kernels"]),
    ("records", &[]),
    ("oracles", &["records"]),
    ("gates", &["oracles", "records"]),
    ("grids", &["oracles", "records"]),
    ("xtask", &["gates", "oracles", "records"]),
];

/// Reads `cargo metadata` and compares.
pub fn check(workspace: &Workspace) -> Vec<Defect> {
    let metadata = MetadataCommand::new()
        .manifest_path(workspace.root.join("Cargo.toml"))
        .no_deps()
        .other_options(vec!["--offline".to_owned()])
        .exec();
    match metadata {
        Err(error) => vec![Defect::new("arrows", "Cargo.toml", error.to_string())],
        Ok(metadata) => {
            let edges = metadata.packages.iter().map(|package| {
                let on = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
                (package.name.to_string(), on.map(|on| on.name.clone()).collect())
            });
            judge(&edges.collect())
        }
    }
}

/// The defects of a graph: crate to the crates of ours that it depends on.
fn judge(edges: &BTreeMap<String, Vec<String>>) -> Vec<Defect> {
    let mut defects = Vec::new();
    for (from, on) in edges {
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| name == from) else {
            let message = "is a member without a line in docs/xtask/src/arrows.rs: give it one";
            defects.push(Defect::new("arrows", from.clone(), message));
            continue;
        };
        let forbidden = on.iter().filter(|to| !allowed.contains(&to.as_str()));
        defects.extend(forbidden.map(|to| {
            Defect::new("arrows", format!("{from}/Cargo.toml"), format!("must not depend on {to}"))
        }));
    }
    defects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_wrong_arrow_and_a_new_crate() {
        let graph = |edges: &[(&str, &[&str])]| {
            let edges = edges.iter().map(|(from, on)| {
                ((*from).to_owned(), on.iter().map(|&to| to.to_owned()).collect())
            });
            judge(&edges.collect())
        };
        assert_eq!(graph(&[("gates", &["oracles", "records"]), ("engine", &["kernels"])]), []);
        for from in ["gates", "grids", "oracles", "records", "kernels"] {
            let found = graph(&[(from, &["engine"])]);
            assert_eq!(found.len(), 1, "{from}");
            assert_eq!(found[0].message, "must not depend on engine");
        }
        assert_eq!(graph(&[("helpers", &[])]).len(), 1);
    }
}
