//! `grid load`

pub(super) mod asking;
pub(super) mod probe;
pub(super) mod shard;
pub(super) mod summary;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use serde::Serialize;

use super::CommandError;
use crate::load::interrupt;
use crate::load::run::{Outcome, run};
use crate::slurm::{Partition, Share};
use asking::{ClientArguments, ObjectiveArguments, Pace, ServerArguments, WorkArguments};
use summary::{Loaded, summarise, text};

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("pace").required(true).args(["concurrency", "rate", "workload"]).multiple(true)))]
pub(super) struct LoadArguments {
    #[command(flatten)]
    server: ServerArguments,
    /// Closed loop: so many requests in flight at any time; with times or --rate the most that may be
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// Open loop: so many requests a second
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    #[command(flatten)]
    work: WorkArguments,
    #[command(flatten)]
    client: ClientArguments,
    #[command(flatten)]
    objectives: ObjectiveArguments,
    /// Also print what other tools would have printed, each by its own rule
    #[arg(long)]
    aliases: bool,
    /// Write the trace of each request to this file, a JSON object a line
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the token ids and the text of each answer to this file, a JSON object a line
    #[arg(long, value_name = "FILE", conflicts_with = "on")]
    answers: Option<PathBuf>,
    /// Send it from allocations of a partition of a scheduler that is there already
    #[arg(long, value_name = "slurm:PARTITION", requires = "shards")]
    on: Option<Partition>,
    /// From how many allocations
    #[arg(long, value_name = "N", default_value_t = 2, requires = "on", value_parser = clap::value_parser!(u32).range(1..))]
    allocations: u32,
    /// A folder that all machines see, for what the allocations leave
    #[arg(long, value_name = "DIR")]
    shards: Option<PathBuf>,
    /// Send one share and print nothing: what an allocation runs
    #[arg(
        long,
        value_name = "INDEX/COUNT",
        requires = "shards",
        conflicts_with = "on",
        hide = true
    )]
    share: Option<Share>,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    request: u32,
    ids: &'a [u32],
    text: Option<String>,
}

pub(super) fn load(arguments: &LoadArguments) -> Result<u8, CommandError> {
    let stop = interrupt::on_signal()?;
    let pace = match (arguments.rate, arguments.concurrency) {
        (Some(rate), cap) => Pace::Rate(rate, cap),
        (None, Some(concurrency)) if !arguments.work.is_given() => Pace::Concurrency(concurrency),
        (None, cap) => Pace::AsGiven(cap),
    };
    let target = arguments.server.target()?;
    let mut plan = arguments.work.plan(&target, &arguments.client, pace, 0)?;
    plan.keeps_output |= arguments.answers.is_some();
    super::complain(&format!("{} requests to {}", plan.requests.len(), plan.address));
    let loaded = match (&arguments.on, arguments.share, &arguments.shards) {
        (Some(partition), _, Some(folder)) => {
            shard::conduct(&plan, partition, arguments.allocations, folder, stop)?
        }
        (None, Some(share), Some(folder)) => {
            shard::send(&plan, share, folder, stop)?;
            return Ok(0);
        }
        _ => {
            let outcome = run(&plan, stop)?;
            if let Some(path) = &arguments.answers {
                write_answers(path, &outcome)?;
            }
            Loaded::of(outcome)
        }
    };
    if let Some(path) = &arguments.out {
        write_lines(path, &loaded.traces)?;
    }
    let summary = summarise(&plan, loaded, arguments.objectives.objectives());
    if arguments.json {
        super::print_json(&summary)?;
    } else {
        super::print(&text(&summary, arguments.aliases))?;
    }
    let is_void = !summary.client_limits.is_empty() || !summary.broken.is_empty();
    Ok(if is_void { super::VOID } else { u8::from(summary.ends.ok != summary.sent) })
}

fn write_answers(path: &Path, outcome: &Outcome) -> Result<(), CommandError> {
    let ids: Vec<Vec<u32>> = outcome.outputs.iter().map(|output| output.said.ids()).collect();
    let answers = outcome.outputs.iter().zip(&ids).map(|(output, ids)| Answer {
        request: output.request,
        ids,
        text: output.said.text(),
    });
    write_lines(path, &answers.collect::<Vec<_>>())
}

fn write_lines(path: &Path, items: &[impl Serialize]) -> Result<(), CommandError> {
    let file = |source| CommandError::File { path: path.to_owned(), source };
    let mut out = BufWriter::new(File::create(path).map_err(file)?);
    for item in items {
        serde_json::to_writer(&mut out, item).map_err(CommandError::Json)?;
        out.write_all(b"\n").map_err(file)?;
    }
    out.flush().map_err(file)
}
