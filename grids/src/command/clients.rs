//! `grid clients`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::Args;
use oracles::Home;
use serde_json::json;

use super::{CommandError, EMPTY, complain, print, print_json, table, table_text};
use crate::clients::judge::{Row, Spread, Word, rows, word};
use crate::clients::leg::{Bench, Leg, measure};
use crate::clients::series::{Folder, legs};
use crate::clients::spec::{ClientSpec, NamedSpec, load};
use crate::clients::{ClientsError, Cores, alias, tokenizer};
use crate::load::interrupt;

#[derive(Debug, Args)]
pub(super) struct ClientsArguments {
    /// The comparison: a file of grids/clients
    #[arg(default_value = "per-core")]
    name: String,
    /// The folder that keeps what came of each leg; the same command goes on where it was stopped
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// Hold each of our aliases against the tool's own number of the same stream instead. Exit status 1: one differs
    #[arg(long)]
    aliases: bool,
    /// The folder of the virtual environments, one a client [default: clients in the cache]
    #[arg(long, value_name = "DIR")]
    environments: Option<PathBuf>,
    /// Only these clients
    #[arg(long, value_delimiter = ',')]
    clients: Vec<String>,
    /// Only these levels
    #[arg(long, value_delimiter = ',')]
    streams: Vec<u32>,
    /// Only so many rounds
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// The core of the mock
    #[arg(long, value_name = "CORE", default_value_t = 0)]
    mock_core: usize,
    /// The core of the client
    #[arg(long, value_name = "CORE", default_value_t = 1)]
    client_core: usize,
    /// The workspace [default: at or above the current folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// The clients that are there, and why others are not.
type Found<'a> = (Vec<(&'a str, &'a ClientSpec)>, BTreeMap<String, String>);

pub(super) fn run(arguments: &ClientsArguments) -> Result<u8, CommandError> {
    let stop = interrupt::on_signal()?;
    let home = Home::find(arguments.root.as_deref(), None)?;
    let named = load(&home.root, &arguments.name)?;
    if arguments.mock_core == arguments.client_core {
        return Err(CommandError::Usage("--mock-core and --client-core: expected two".to_owned()));
    }
    let into = absolute(&arguments.into)?;
    let bench = Bench {
        grid: std::env::current_exe().map_err(CommandError::Canonical)?,
        environments: match &arguments.environments {
            Some(path) => absolute(path)?,
            None => home.cache.join("clients"),
        },
        tokenizer: into.join("tokenizer"),
        cores: Cores { mock: arguments.mock_core, client: arguments.client_core },
    };
    let folder = Folder::open(&into, &named, bench.cores)?;
    tokenizer::make(&bench.tokenizer)?;
    let chosen = named.spec.chosen(&arguments.clients)?;
    let mut skipped = BTreeMap::new();
    let mut there = Vec::new();
    for (name, client) in &chosen {
        match bench.missing(name, client) {
            None => there.push((*name, *client)),
            Some(why) => {
                complain(&format!("SKIPPED {name}: {why}"));
                skipped.insert((*name).to_owned(), why);
            }
        }
    }
    if arguments.aliases {
        return aliases(arguments, &named, &bench, &into, (there, skipped), stop);
    }
    let names: Vec<&str> = chosen.iter().map(|(name, _)| *name).collect();
    let streams = levels(arguments, &named);
    let rounds = arguments.rounds.unwrap_or(named.spec.rounds.0);
    let measured = compare(&named, &bench, &folder, (&there, &streams, rounds), stop)?;
    let rows = rows(&named.spec, &names, &streams, &measured, &skipped);
    if arguments.json {
        print_json(
            &json!({ "spec": named.name, "spec_sha256": named.sha256, "rows": rows, "legs": measured }),
        )?;
    } else {
        print(&text(&named, &rows))?;
    }
    let has_failed = |row: &Row| row.words.iter().any(|word| matches!(word, Word::Failed(_)));
    Ok(if measured.is_empty() { EMPTY } else { u8::from(rows.iter().any(has_failed)) })
}

/// Clients start in folders of their own: paths that they are told must not depend on it.
fn absolute(path: &Path) -> Result<PathBuf, CommandError> {
    std::path::absolute(path).map_err(|source| CommandError::File { path: path.to_owned(), source })
}

fn levels(arguments: &ClientsArguments, named: &NamedSpec) -> Vec<u32> {
    if arguments.streams.is_empty() {
        named.spec.streams.iter().map(|streams| streams.0).collect()
    } else {
        arguments.streams.clone()
    }
}

/// Every leg, those that are kept already read back.
fn compare(
    named: &NamedSpec,
    bench: &Bench,
    folder: &Folder,
    (there, streams, rounds): (&[(&str, &ClientSpec)], &[u32], u32),
    stop: &AtomicBool,
) -> Result<Vec<Leg>, ClientsError> {
    let names: Vec<&str> = there.iter().map(|(name, _)| *name).collect();
    let plan = legs(&names, streams, rounds);
    let mut measured = Vec::with_capacity(plan.len());
    for (index, id) in plan.iter().enumerate() {
        let place = format!("{}/{} {}", index + 1, plan.len(), id.name());
        if let Some(leg) = folder.leg(id)? {
            complain(&format!("{place}: is there"));
            measured.push(leg);
            continue;
        }
        let Some((_, client)) = there.iter().find(|(name, _)| *name == id.client) else { continue };
        let leg = measure(&named.spec, bench, id, client, &folder.begin(id)?, stop)?;
        folder.keep(&leg)?;
        let seconds = leg.seconds.map_or_else(String::new, |seconds| format!(" ({seconds:.1} s)"));
        complain(&format!("{place}: {}{seconds}", brief(&word(&named.spec, &leg))));
        measured.push(leg);
    }
    Ok(measured)
}

fn brief(word: &Word) -> String {
    match word {
        Word::Honest => "honest".to_owned(),
        Word::Off(reasons) => reasons.join("; "),
        Word::MockLate(ms) => format!("nothing is said: the mock itself was {ms:.1} ms late"),
        Word::Failed(why) => format!("failed: {why}"),
    }
}

fn shown(spread: Option<Spread>, decimals: usize) -> String {
    spread.map_or_else(
        || "n/a".to_owned(),
        |Spread { median, min, max }| {
            format!("{median:.decimals$} [{min:.decimals$}, {max:.decimals$}]")
        },
    )
}

/// The word of a row in short.
fn in_short(row: &Row) -> String {
    let is_late = |word: &&Word| matches!(word, Word::MockLate(_));
    let has_failed = |word: &&Word| matches!(word, Word::Failed(_));
    match (row.honest(), row.legs) {
        _ if row.skipped.is_some() => "SKIPPED".to_owned(),
        (_, 0) => "not run".to_owned(),
        (honest, legs) if honest == legs => "yes".to_owned(),
        (_, legs) if row.words.iter().filter(has_failed).count() == legs => "FAILED".to_owned(),
        (_, legs) if row.words.iter().filter(is_late).count() == legs => "mock late".to_owned(),
        (0, _) => "no".to_owned(),
        (honest, legs) => format!("{honest} of {legs}"),
    }
}

fn text(named: &NamedSpec, rows: &[Row]) -> String {
    let mut lines = table(&[
        "streams",
        "client",
        "honest",
        "warns",
        "TTFT p50",
        "TTFT p99",
        "ITL p50",
        "ITL p99",
        "events/s",
        "of load",
        "mock late p99",
    ]);
    for row in rows {
        let share = |share: f64| format!("{:.0} %", share * 100.0);
        lines.add_row([
            row.streams.to_string(),
            row.client.clone(),
            in_short(row),
            if row.legs == 0 {
                String::new()
            } else {
                format!("{} of {}", row.says_limited, row.legs)
            },
            shown(row.ttft_ms_p50, 1),
            shown(row.ttft_ms_p99, 1),
            shown(row.itl_ms_p50, 1),
            shown(row.itl_ms_p99, 1),
            shown(row.events_per_s, 0),
            row.load_share.map_or_else(|| "n/a".to_owned(), share),
            shown(row.mock_late_ms_p99, 2),
        ]);
    }
    let load = &named.spec.load;
    let mut text = format!(
        "truth: TTFT {} ms, ITL {} ms; median [least, most] of the rounds, in milliseconds\n\n{}\n",
        load.ttft_ms.0,
        load.gap_ms.0,
        table_text(&lines)
    );
    for row in rows {
        let place = format!("{} at {} streams", row.client, row.streams);
        let skipped = row.skipped.iter().map(|why| format!("{place}: SKIPPED: {why}\n"));
        text.extend(skipped);
        let reason = row.words.iter().find(|word| **word != Word::Honest);
        text.extend(reason.map(|word| format!("{place}: {}\n", brief(word))));
    }
    for (name, client) in &named.spec.clients {
        let _ = writeln!(text, "ITL of {}: {}", name.0, client.itl_is);
    }
    text
}

fn aliases(
    arguments: &ClientsArguments,
    named: &NamedSpec,
    bench: &Bench,
    into: &Path,
    (there, skipped): Found<'_>,
    stop: &AtomicBool,
) -> Result<u8, CommandError> {
    let folder = into.join("aliases");
    let mut cases = Vec::new();
    for client in there.into_iter().filter(|(_, client)| !client.aliases.is_empty()) {
        for mode in &named.spec.aliases.modes {
            complain(&format!("{} {}", client.0, mode.name()));
            cases.push(alias::case(&named.spec, bench, client, *mode, &folder, stop)?);
        }
    }
    if arguments.json {
        print_json(
            &json!({ "spec": named.name, "spec_sha256": named.sha256, "skipped": skipped, "cases": cases }),
        )?;
    } else {
        print(&aliases_text(&cases, &skipped))?;
    }
    let is_red = |case: &alias::Case| match &case.outcome {
        alias::Outcome::Compared(all) => all.iter().any(|compared| !compared.is_same),
        alias::Outcome::Skipped(_) => false,
        alias::Outcome::Failed(_) => true,
    };
    let compared = |case: &&alias::Case| matches!(case.outcome, alias::Outcome::Compared(_));
    let is_empty = cases.iter().filter(compared).count() == 0;
    Ok(if cases.iter().any(is_red) {
        1
    } else if is_empty {
        EMPTY
    } else {
        0
    })
}

fn aliases_text(cases: &[alias::Case], skipped: &BTreeMap<String, String>) -> String {
    let number = |ms: Option<f64>| ms.map_or_else(|| "n/a".to_owned(), |ms| format!("{ms:.3}"));
    let mut lines = table(&[
        "tool",
        "mode",
        "its number",
        "its value",
        "our alias",
        "ours",
        "apart",
        "allowed",
        "",
    ]);
    let mut reasons = String::new();
    for (name, why) in skipped {
        let _ = writeln!(reasons, "SKIPPED {name}: {why}");
    }
    let (mut same, mut all) = (0, 0);
    for case in cases {
        let place = format!("{} {}", case.client, case.mode.name());
        let compared = match &case.outcome {
            alias::Outcome::Compared(compared) => compared,
            alias::Outcome::Skipped(why) => {
                let _ = writeln!(reasons, "SKIPPED {place}: {why}");
                continue;
            }
            alias::Outcome::Failed(why) => {
                let _ = writeln!(reasons, "FAILED {place}: {why}");
                continue;
            }
        };
        for one in compared {
            all += 1;
            same += usize::from(one.is_same);
            let apart = one.theirs.zip(one.ours).map(|(theirs, ours)| (ours - theirs).abs());
            let statistic = serde_json::to_value(one.statistic).unwrap_or_default();
            lines.add_row([
                case.client.clone(),
                case.mode.name(),
                one.key.clone(),
                number(one.theirs),
                format!("{} {}", one.alias, statistic.as_str().unwrap_or_default()),
                number(one.ours),
                number(apart),
                number(one.allowed),
                if one.is_same { "ok".to_owned() } else { "DIFFERS".to_owned() },
            ]);
        }
    }
    format!("{}\n{reasons}{same} of {all} are the same\n", table_text(&lines))
}
