//! Every spec in the tree parses, with the very functions that the binaries use, and names things that exist.

use oracles::Home;

use crate::defect::Defect;
use crate::workspace::Workspace;

/// Gates, checkpoints and oracles.
pub fn check(workspace: &Workspace) -> Vec<Defect> {
    let home = Home { root: workspace.root.clone(), cache: workspace.root.join("target") };
    let checkpoints = oracles::checkpoint::names(&home).unwrap_or_default();
    let oracle_names = oracles::registry::names(&home).unwrap_or_default();
    let mut defects = Vec::new();
    let mut report = |place: String, message: String| {
        defects.push(Defect::new("specs", place, message));
    };
    for name in &checkpoints {
        if let Err(error) = oracles::checkpoint::CheckpointSpec::load(&home, name) {
            report(format!("oracles/checkpoints/{name}.toml"), error.to_string());
        }
    }
    for name in &oracle_names {
        if let Err(error) = oracles::registry::OracleSpec::load(&home, name) {
            report(format!("oracles/registry/{name}.toml"), error.to_string());
        }
    }
    for name in gates::spec::names(&workspace.root).unwrap_or_default() {
        let place = format!("gates/specs/{name}.toml");
        match gates::spec::load(&workspace.root, &name) {
            Err(error) => report(place, error.to_string()),
            Ok(named) => {
                if named.spec.prove.faults.is_empty() {
                    report(
                        place.clone(),
                        "lists no fault under [prove]: it has never failed".to_owned(),
                    );
                }
                if let Some(oracle) = named.spec.oracle.filter(|name| !oracle_names.contains(name))
                {
                    report(place.clone(), format!("oracle {oracle:?} has no registry entry"));
                }
                if let Some(checkpoint) =
                    named.spec.checkpoint.filter(|name| !checkpoints.contains(name))
                {
                    report(
                        place,
                        format!("checkpoint {checkpoint:?} has no file in oracles/checkpoints"),
                    );
                }
            }
        }
    }
    defects
}
