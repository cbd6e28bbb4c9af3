//! `cargo xtask`: rules over the workspace, the sizes they hold, and the licences of what we are built from.

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::workspace::Workspace;
use xtask::{RULES, history, licences, sources};

/// Automation for this workspace.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Check the rules that the compiler cannot hold.
    Tidy,
    /// List source files by length, longest first.
    Sizes,
    /// Check licences, bans and sources of all dependencies against .deny.toml, offline.
    Licences,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().verb {
        Verb::Tidy => tidy(),
        Verb::Sizes => sizes(),
        Verb::Licences => check_licences(),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "error: {message}");
            ExitCode::from(2)
        }
    }
}

/// A line on stdout; the error of a closed pipe becomes a sentence.
fn say(line: &str) -> Result<(), String> {
    writeln!(std::io::stdout(), "{line}").map_err(|error| format!("stdout: {error}"))
}

fn tidy() -> Result<bool, String> {
    let workspace = Workspace::ours()?;
    let mut clean = true;
    for (rule, check) in RULES {
        let defects = check(&workspace);
        say(&format!("{} {rule}", if defects.is_empty() { "ok  " } else { "FAIL" }))?;
        for defect in &defects {
            say(&format!("     {defect}"))?;
        }
        clean &= defects.is_empty();
    }
    if history::is_shallow(&workspace) {
        say(
            "note this clone is shallow: changes to records in the commits it lacks were not checked",
        )?;
    }
    Ok(clean)
}

fn sizes() -> Result<bool, String> {
    let workspace = Workspace::ours()?;
    let mut sizes: Vec<(usize, &String)> =
        workspace.ending(".rs").map(|path| (workspace.text(path).lines().count(), path)).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    for (lines, path) in &sizes {
        say(&format!("{lines:5} {path}"))?;
    }
    let total: usize = sizes.iter().map(|(lines, _)| lines).sum();
    say(&format!("{total:5} in {} files; at most {} a file", sizes.len(), sources::FILE_LINES))?;
    Ok(true)
}

fn check_licences() -> Result<bool, String> {
    let report = licences::check(&Workspace::ours()?.root)?;
    for defect in &report.defects {
        say(&defect.to_string())?;
    }
    for duplicate in &report.duplicates {
        say(&format!("note several versions: {duplicate}"))?;
    }
    say(&format!(
        "{} packages: licences, bans and sources checked, {} defects",
        report.packages,
        report.defects.len()
    ))?;
    say(
        "note advisories were NOT checked: they need a database from the network (`cargo deny check advisories`)",
    )?;
    Ok(report.defects.is_empty())
}
