//! What is easily forgotten when something is added: a format file without its line in `FORMATS` (which is what the conformance
//! suite runs over), a model file without its line in `FAMILIES`, a family that no gate judges.

use crate::defect::Defect;
use crate::masked::masked;
use crate::workspace::Workspace;

/// Families that no gate judges yet, with the reason. The list may only shrink: an entry that a gate judges is red.
const UNGATED: &[(&str, &str)] = &[];

/// All three.
pub fn check(workspace: &Workspace) -> Vec<Defect> {
    let mut defects = unregistered(workspace, "kernels/src/formats/", "SPEC");
    defects.extend(unregistered(workspace, "engine/src/models/", "FAMILY"));
    let judged: String = workspace
        .files
        .iter()
        .filter(|path| path.starts_with("gates/specs/"))
        .filter_map(|path| named_checkpoint(&workspace.text(path)))
        .map(|name| workspace.text(&format!("oracles/checkpoints/{name}.toml")).to_lowercase())
        .collect();
    defects.extend(ungated(&families(workspace), &judged, UNGATED));
    defects
}

/// Files of a folder that define `CONSTANT` and whose `module::CONSTANT` does not stand in the folder's `mod.rs`.
fn unregistered(workspace: &Workspace, folder: &str, constant: &str) -> Vec<Defect> {
    let index = masked(&workspace.text(&format!("{folder}mod.rs")));
    let defines =
        |path: &str| masked(&workspace.text(path)).contains(&format!("const {constant}:"));
    let mut defects = Vec::new();
    for path in workspace.files.iter().filter(|path| path.starts_with(folder)) {
        let Some(module) = path[folder.len()..].strip_suffix(".rs") else { continue };
        if module != "mod" && defines(path) && !index.contains(&format!("{module}::{constant}")) {
            let message = format!("has no line in {folder}mod.rs: nothing reaches it");
            defects.push(Defect::new("registered", path.clone(), message));
        }
    }
    defects
}

/// The modules of the model folder that define a family.
fn families(workspace: &Workspace) -> Vec<String> {
    let folder = "engine/src/models/";
    let modules = workspace.files.iter().filter_map(|path| {
        let module = path.strip_prefix(folder)?.strip_suffix(".rs")?;
        masked(&workspace.text(path)).contains("const FAMILY:").then(|| module.to_owned())
    });
    modules.collect()
}

/// The value of `checkpoint = "…"` in a gate's spec.
fn named_checkpoint(spec: &str) -> Option<String> {
    let table: toml::Table = spec.parse().ok()?;
    Some(table.get("checkpoint")?.as_str()?.to_owned())
}

/// A family counts as judged when the file of some gate's checkpoint names it.
fn ungated(families: &[String], judged: &str, allowed: &[(&str, &str)]) -> Vec<Defect> {
    let mut defects = Vec::new();
    for family in families {
        let is_allowed = allowed.iter().any(|(name, _)| name == family);
        let message = match (judged.contains(family.as_str()), is_allowed) {
            (false, false) => {
                "is judged by no gate: add one, or list it in docs/xtask/src/registered.rs"
            }
            (true, true) => "is judged by a gate and listed as ungated: take it off the list",
            _ => continue,
        };
        defects.push(Defect::new("gated", format!("engine/src/models/{family}.rs"), message));
    }
    defects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_family_without_a_gate_and_a_stale_exception() {
        let families = ["llama".to_owned(), "qwen3".to_owned()];
        let found = |judged, allowed: &[(&str, &str)]| ungated(&families, judged, allowed).len();
        assert_eq!(found("a llama checkpoint, a qwen3 one", &[]), 0);
        assert_eq!(found("a llama checkpoint", &[]), 1);
        assert_eq!(found("a llama checkpoint", &[("qwen3", "later")]), 0);
        assert_eq!(found("a llama checkpoint, a qwen3 one", &[("qwen3", "later")]), 1);
    }

    #[test]
    fn finds_a_format_that_nothing_reaches() {
        let folder = tempfile::tempdir().unwrap();
        let formats = folder.path().join("kernels/src/formats");
        std::fs::create_dir_all(&formats).unwrap();
        std::fs::write(
            formats.join("mod.rs"),
            "mod q4_0;\n// &q9::SPEC\nconst A: B = &q4_0::SPEC;",
        )
        .unwrap();
        for name in ["q4_0", "q9"] {
            std::fs::write(formats.join(format!("{name}.rs")), "pub const SPEC: u8 = 1;").unwrap();
        }
        std::fs::write(formats.join("bits.rs"), "pub fn shift() {}").unwrap();
        let names = ["mod", "q4_0", "q9", "bits"];
        let files = names.map(|name| format!("kernels/src/formats/{name}.rs")).to_vec();
        let workspace = Workspace { root: folder.path().to_owned(), files };
        let found = unregistered(&workspace, "kernels/src/formats/", "SPEC");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "kernels/src/formats/q9.rs");
    }
}
