//! `gate list` and `gate explain NAME`

use comfy_table::{ContentArrangement, Table};
use serde_json::json;

use super::prepare::Declared;
use super::{CommandError, Context};
use crate::fault;
use crate::kind;
use crate::rule::{EXIT_ERROR, EXIT_INTERRUPTED, Rule, WORDS, exit_status, meaning};
use crate::spec::{self, NamedSpec};

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
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["gate", "kinds", "oracle", "faults", "what it shows"]);
    for gate in &gates {
        let faults = gate.spec.prove.faults.len().to_string();
        let kinds = kind::names(&gate.spec).join(", ");
        table.add_row([&gate.name, &kinds, &gate.spec.oracle, &faults, &gate.spec.summary]);
    }
    super::print(&format!("{table}\n"))?;
    Ok(0)
}

pub(super) fn explain(context: &Context, name: &str) -> Result<u8, CommandError> {
    let declared = Declared::read(context, name)?;
    super::print(&explanation(&declared))?;
    Ok(0)
}

fn explanation(declared: &Declared) -> String {
    let Declared { gate, workload, oracle } = declared;
    let spec = &gate.spec;
    let package = &oracle.declared.package;
    let mut lines = vec![
        format!("{}: {}", gate.name, spec.summary),
        String::new(),
        format!(
            "oracle      {} {} (source sha256 {})",
            oracle.name, package.version, package.archive_sha256
        ),
    ];
    let mut add = |key: &str, value: String| lines.push(format!("{key:<11} {value}"));
    if let Some(checkpoint) = &spec.checkpoint {
        add("checkpoint", checkpoint.clone());
    }
    if let Some(profile) = &spec.profile {
        add("profile", profile.clone());
    }
    if let (Some(path), Some(workload)) = (&spec.inputs, workload) {
        let cases = workload.cases.len();
        add("inputs", format!("{} ({cases} cases, sha256 {})", path.display(), workload.sha256));
    }
    if let Some(generate) = &spec.generate {
        add("generates", format!("up to {} tokens each, greedy", generate.max_tokens.0));
    }
    add("spec", format!("sha256 {}", gate.sha256));
    lines.push("\ncompares".to_owned());
    for (kind, text) in kind::explain(spec) {
        lines.push(format!("  {kind}: {}", text.replace('\n', "\n    ")));
    }
    lines.push("\nrules that void a run".to_owned());
    lines.extend(Rule::ALL.iter().map(|rule| format!("  {:<11} {}", rule.id(), rule.meaning())));
    lines.push("\nfaults that `gate prove` plants, each of which must turn it red".to_owned());
    let faults = spec.prove.faults.iter().filter_map(|name| fault::by_name(&name.0));
    lines.extend(faults.map(|fault| format!("  {:<18} {}", fault.name, fault.plants)));
    lines.push("\nexit status".to_owned());
    for word in WORDS {
        lines.push(format!("  {:<3} {:<16} {}", exit_status(word), word.as_str(), meaning(word)));
    }
    lines.push(format!(
        "  {EXIT_ERROR:<3} {:<16} usage, spec or program error; nothing is recorded",
        "-"
    ));
    lines.push(format!("  {EXIT_INTERRUPTED:<3} {:<16} Ctrl-C; nothing is recorded", "-"));
    lines.join("\n") + "\n"
}
