//! `gate list` and `gate explain NAME`

use comfy_table::Table;
use oracles::golden::{Golden, GoldenManifest};
use serde_json::json;

use super::prepare::Declared;
use super::{CommandError, Context};
use crate::report::noise_words;
use crate::rule::{EXIT_ERROR, EXIT_INTERRUPTED, Rule, WORDS, exit_status, meaning};
use crate::spec::{self, NamedSpec};
use crate::supplies::Supplies;
use crate::words::count;
use crate::{chain, fault, kind};

pub(super) fn list(context: &Context, as_json: bool) -> Result<u8, CommandError> {
    let root = &context.home.root;
    let gates: Vec<NamedSpec> =
        spec::names(root)?.iter().map(|name| spec::load(root, name)).collect::<Result<_, _>>()?;
    if as_json {
        let object = |gate: &NamedSpec| {
            json!({
                "name": gate.name,
                "summary": gate.spec.summary,
                "kinds": kind::names(&gate.spec),
                "oracle": gate.spec.oracle,
                "checkpoint": gate.spec.checkpoint,
                "cheap": gate.spec.cheap,
                "faults": gate.spec.prove.faults.len(),
            })
        };
        let gates: Vec<_> = gates.iter().map(object).collect();
        super::print(&format!("{:#}\n", json!({ "gates": gates })))?;
        return Ok(0);
    }
    let mut table = super::table(&["gate", "kinds", "oracle", "faults", "what it shows"]);
    for gate in &gates {
        let faults = gate.spec.prove.faults.len().to_string();
        let kinds = kind::names(&gate.spec).join(", ");
        let oracle = gate.spec.oracle.as_deref().unwrap_or("-");
        table.add_row([&gate.name, &kinds, oracle, &faults, &gate.spec.summary]);
    }
    super::print_table(&table)?;
    Ok(0)
}

pub(super) fn explain(context: &Context, name: &str) -> Result<u8, CommandError> {
    let declared = Declared::read(context, name)?;
    super::print(&explanation(&declared, golden(context, &declared).as_ref()))?;
    Ok(0)
}

/// A golden's manifest and the digest of it; none where none is kept.
type KeptGolden = oracles::Result<Option<(GoldenManifest, String)>>;

/// The golden of a gate that has one: a corpus that brings its own answers has none, nor has a gate without an oracle.
fn golden(context: &Context, declared: &Declared) -> Option<KeptGolden> {
    let (spec, supplies) = (&declared.gate.spec, declared.supplies(context));
    if !spec.check.inside().is_empty() {
        let golden = supplies.tensor_golden();
        return Some(golden.map(|golden| golden.map(|golden| (golden.manifest, golden.sha256))));
    }
    let has_golden = declared.workload.is_some() && declared.oracle.is_some() && spec.asks_engine();
    let manifest = |golden: Golden| (golden.manifest, golden.sha256);
    has_golden.then(|| supplies.golden().map(|golden| golden.map(manifest)))
}

fn explanation(declared: &Declared, golden: Option<&KeptGolden>) -> String {
    let Declared { gate, workload, regressions, oracle } = declared;
    let spec = &gate.spec;
    let mut pins = super::table(&[]);
    let mut add = |key: &str, value: String| {
        pins.add_row([key.to_owned(), value]);
    };
    if let Some(oracle) = oracle {
        let package = &oracle.declared.package;
        let (version, sha256) = (&package.version, &package.archive_sha256);
        add("oracle", format!("{} {version} (source sha256 {sha256})", oracle.name));
    } else {
        add("oracle", "none: the engine is judged alone".to_owned());
    }
    if let Some(checkpoint) = &spec.checkpoint {
        add("checkpoint", checkpoint.clone());
    }
    if let Some(profile) = &spec.profile {
        add("profile", profile.clone());
    }
    if let (Some(path), Some(workload)) = (&spec.inputs, workload) {
        let cases = count(workload.cases.len(), "case", "cases");
        add("inputs", format!("{} ({cases}, sha256 {})", path.display(), workload.sha256));
    }
    if let (Some(path), Some(list)) = (&spec.inputs, regressions) {
        let cases = count(list.cases.len(), "input", "inputs");
        add("list", format!("{} ({cases}, sha256 {})", path.display(), list.sha256));
    }
    if let Some(generate) = &spec.generate {
        let tokens = count(generate.max_tokens.0 as usize, "token", "tokens");
        add("generates", format!("up to {tokens} each, greedy"));
    }
    add("spec", format!("gates/specs/{}.toml (sha256 {})", gate.name, gate.sha256));
    if let Some(golden) = golden {
        for (key, value) in golden_rows(golden) {
            add(key, value);
        }
    }
    let mut compares = super::table(&[]);
    for (kind, text) in kind::explain(spec) {
        compares.add_row([kind, &text]);
    }
    let mut rules = super::table(&[]);
    for rule in Rule::ALL {
        rules.add_row([rule.id(), rule.meaning()]);
    }
    let mut faults = super::table(&[]);
    for fault in spec.prove.faults.iter().filter_map(|name| fault::by_name(&name.0)) {
        faults.add_row([fault.name, fault.plants]);
    }
    let section = |title: &str, table: &Table| format!("\n{title}\n{}\n", indented(table));
    [
        format!("{}: {}\n\n{}\n", gate.name, spec.summary, super::table_text(&pins, "")),
        section("compares", &compares),
        section("rules that void a run", &rules),
        section("faults that `gate prove` plants, each of which must turn it red", &faults),
        section("exit status", &statuses()),
    ]
    .concat()
}

/// The golden, and how far the oracle is from itself: what our differences are to be read beside.
fn golden_rows(golden: &KeptGolden) -> Vec<(&'static str, String)> {
    let (manifest, sha256) = match golden {
        Ok(Some(golden)) => golden,
        Ok(None) => return vec![("golden", "none is kept".to_owned())],
        Err(error) => return vec![("golden", format!("cannot be used: {}", chain::of(error)))],
    };
    let who = format!("{} {}", manifest.oracle.name, manifest.oracle.version);
    let mut rows =
        vec![("golden", format!("{who}, {} (manifest sha256 {sha256})", manifest.captured_at))];
    rows.extend(manifest.noise.as_ref().map(|noise| ("noise", noise_words(noise))));
    rows
}

/// Every exit status in its order, with its word.
fn statuses() -> Table {
    let mut statuses: Vec<(u8, &str, &str)> =
        WORDS.iter().map(|word| (exit_status(*word), word.as_str(), meaning(*word))).collect();
    statuses.push((EXIT_ERROR, "-", "usage, spec or program error; nothing is recorded"));
    statuses.push((EXIT_INTERRUPTED, "-", "Ctrl-C; nothing is recorded"));
    statuses.sort_unstable();
    let mut table = super::table(&[]);
    for (status, word, meaning) in statuses {
        table.add_row([&status.to_string(), word, meaning]);
    }
    table
}

fn indented(table: &Table) -> String {
    super::table_text(table, "  ")
}
