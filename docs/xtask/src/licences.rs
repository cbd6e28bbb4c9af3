//! Licences, sources and bans of everything we are built from, as `.deny.toml` allows them.
//!
//! The file is the one `cargo deny` reads, and this is the part of its work that needs no network and no other program.
//! Advisories need a database that is not part of this tree: they are not checked here, and the report says so.

use std::collections::BTreeMap;
use std::path::Path;

use cargo_metadata::{CargoOpt, Dependency, DependencyKind, MetadataCommand, Package};
use serde::Deserialize;

use crate::defect::Defect;

/// The keys of `.deny.toml` that are honoured; any other is an error, so that nothing there is believed to be checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Policy {
    graph: Graph,
    licenses: Licences,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Graph {
    all_features: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Licences {
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Bans {
    multiple_versions: String,
    wildcards: String,
    deny: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    unknown_registry: String,
    unknown_git: String,
    allow_registry: Vec<String>,
}

/// What was looked at, and what is not in order.
pub struct Report {
    /// Packages from outside the workspace.
    pub packages: usize,
    /// How many of them come in several versions; told, not forbidden.
    pub duplicates: Vec<String>,
    /// The defects.
    pub defects: Vec<Defect>,
}

/// Reads `.deny.toml` and the whole dependency graph, of all features.
pub fn check(root: &Path) -> Result<Report, String> {
    let path = root.join(".deny.toml");
    let text =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let policy: Policy = toml::from_str(&text).map_err(|error| format!(".deny.toml: {error}"))?;
    let mut command = MetadataCommand::new();
    command.manifest_path(root.join("Cargo.toml")).other_options(vec!["--locked".to_owned()]);
    if policy.graph.all_features {
        command.features(CargoOpt::AllFeatures);
    }
    let metadata = command.exec().map_err(|error| error.to_string())?;
    let outside: Vec<&Package> =
        metadata.packages.iter().filter(|package| package.source.is_some()).collect();
    let mut defects: Vec<Defect> =
        outside.iter().flat_map(|package| judge(&policy, package)).collect();
    let duplicates = duplicates(&outside);
    if policy.bans.multiple_versions == "deny" {
        defects.extend(duplicates.iter().map(|name| Defect::new("bans", name, "several versions")));
    }
    Ok(Report { packages: outside.len(), duplicates, defects })
}

fn judge(policy: &Policy, package: &Package) -> Vec<Defect> {
    let place = format!("{} {}", package.name, package.version);
    let mut defects = Vec::new();
    let mut report =
        |rule, message: String| defects.push(Defect::new(rule, place.clone(), message));
    match &package.license {
        None => report("licences", "states no licence".to_owned()),
        Some(licence) => {
            if let Err(message) = permitted(licence, &policy.licenses.allow) {
                report("licences", message);
            }
        }
    }
    if policy.bans.deny.iter().any(|banned| *banned == *package.name) {
        report("bans", "is banned".to_owned());
    }
    let any_version = |on: &Dependency| {
        on.req.to_string() == "*" && on.path.is_none() && on.kind != DependencyKind::Development
    };
    if policy.bans.wildcards == "deny" && package.dependencies.iter().any(any_version) {
        report("bans", "depends on some package in any version (`*`)".to_owned());
    }
    let source = package.source.as_ref().map(|source| source.repr.as_str()).unwrap_or_default();
    let known = policy
        .sources
        .allow_registry
        .iter()
        .any(|registry| source == format!("registry+{registry}"));
    let refused = if source.starts_with("git+") {
        &policy.sources.unknown_git
    } else {
        &policy.sources.unknown_registry
    };
    if !known && refused == "deny" {
        report("sources", format!("comes from {source}"));
    }
    defects
}

/// Whether an SPDX expression can be met with allowed licences; `/` is read as OR, as older manifests mean it.
fn permitted(licence: &str, allowed: &[String]) -> Result<(), String> {
    let expression =
        spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX).map_err(|error| {
            format!("licence {licence:?} is not an SPDX expression: {}", error.reason)
        })?;
    let is_allowed = |requirement: &spdx::LicenseReq| allowed.contains(&requirement.to_string());
    if expression.evaluate(is_allowed) {
        return Ok(());
    }
    Err(format!("licence {licence:?} is not on the list of .deny.toml"))
}

/// Names that come in more than one version.
fn duplicates(packages: &[&Package]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for package in packages {
        versions.entry(package.name.as_str()).or_default().push(package.version.to_string());
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions.into_iter().map(|(name, versions)| format!("{name} {}", versions.join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_expressions_as_they_are_meant() {
        let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"];
        let allowed = allowed.map(str::to_owned);
        let is_permitted = |licence| permitted(licence, &allowed).is_ok();
        for good in [
            "MIT",
            "MIT OR GPL-3.0-only",
            "MIT/Apache-2.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(is_permitted(good), "{good}");
        }
        for bad in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "MPL-2.0", "nonsense"] {
            assert!(!is_permitted(bad), "{bad}");
        }
    }
}
