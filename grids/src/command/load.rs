//! `grid load`

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::CommandError;
use crate::load::account::{AccountSummary, SpanSummary, Spans};
use crate::load::interrupt;
use crate::load::monotonic::SECOND_NS;
use crate::load::plan::{Arrival, Plan};
use crate::load::prompts::distinct;
use crate::load::request::{Dialect, Prompt, Request, Target};
use crate::load::run::{Outcome, run};
use crate::load::trace::Trace;
use crate::metric::ends::Ends;
use crate::metric::latency::{Latency, gaps};
use crate::metric::stream::{arrivals, tokens};

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DialectName {
    /// OpenAI's /v1/completions
    Completions,
    /// llama-server's own /completion
    LlamaServer,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("arrival").required(true).args(["concurrency", "rate", "workload"]).multiple(true)))]
pub(super) struct LoadArguments {
    /// The server, as http://HOST:PORT
    server: String,
    /// How it wants to be asked
    #[arg(long, value_enum, default_value = "completions")]
    dialect: DialectName,
    /// The model's name as the server knows it
    #[arg(long)]
    model: Option<String>,
    /// Further keys of each request, as a JSON object, such as {"return_token_ids": true}
    #[arg(long, value_name = "JSON")]
    extra: Option<String>,
    /// Closed loop: so many requests in flight at any time; with --rate the most that may be
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// Open loop: so many requests a second, evenly spaced
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// JSON lines {"prompt": {"ids": [...]} or {"text": ["...", TOKENS]}, "output_tokens": N, "at_ns": N}; with times an open loop
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "requests"])]
    workload: Option<PathBuf>,
    /// Requests, where no workload is given
    #[arg(long, value_name = "N", default_value_t = 100)]
    requests: u32,
    /// Tokens of each prompt, where no workload is given
    #[arg(long, value_name = "N", default_value_t = 128)]
    prompt_tokens: u32,
    /// Tokens of each answer, where no workload is given
    #[arg(long, value_name = "N", default_value_t = 64)]
    output_tokens: u32,
    /// Seed of the prompts, where no workload is given
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Send nothing new after so many seconds
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// Give up on a request after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0)]
    deadline: f64,
    /// Threads
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Cores, one a thread
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    /// Connections to open before the start of an open loop
    #[arg(long, value_name = "N", default_value_t = 0)]
    connections: usize,
    /// Write the trace of each request to this file, a JSON object a line
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the token ids and the text of each answer to this file, a JSON object a line
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    prompt: Prompt,
    output_tokens: u32,
    at_ns: Option<u64>,
}

#[derive(Serialize)]
struct Answer<'a> {
    request: u32,
    ids: &'a [u32],
    text: Option<String>,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct Summary {
    sent: usize,
    ends: Ends,
    is_interrupted: bool,
    seconds: f64,
    output_tokens: u64,
    tokens_a_second: Option<f64>,
    ttft: SpanSummary,
    gap: SpanSummary,
    client: AccountSummary,
    /// Why the client was at its limit; empty if it was not.
    client_limits: Vec<String>,
}

pub(super) fn load(arguments: &LoadArguments) -> Result<u8, CommandError> {
    let stop = interrupt::on_signal()?;
    let plan = plan(arguments)?;
    super::complain(&format!("{} requests to {}", plan.requests.len(), plan.address));
    let outcome = run(&plan, stop)?;
    if let Some(path) = &arguments.out {
        write_lines(path, &outcome.traces)?;
    }
    if let Some(path) = &arguments.answers {
        let ids: Vec<Vec<u32>> = outcome.outputs.iter().map(|output| output.said.ids()).collect();
        let answers = outcome.outputs.iter().zip(&ids).map(|(output, ids)| Answer {
            request: output.request,
            ids,
            text: output.said.text(),
        });
        write_lines(path, &answers.collect::<Vec<_>>())?;
    }
    let summary = summarise(&outcome);
    if arguments.json {
        super::print_json(&summary)?;
    } else {
        super::print(&text(&summary))?;
    }
    let is_void = !summary.client_limits.is_empty();
    Ok(if is_void { super::VOID } else { u8::from(summary.ends.ok != outcome.sent) })
}

fn plan(arguments: &LoadArguments) -> Result<Plan, CommandError> {
    let usage = |text: String| CommandError::Usage(text);
    let dialect = match arguments.dialect {
        DialectName::Completions => Dialect::Completions,
        DialectName::LlamaServer => Dialect::LlamaServer,
    };
    let mut target = Target::parse(&arguments.server, dialect)?;
    target.model.clone_from(&arguments.model);
    if let Some(extra) = &arguments.extra {
        target.extra = serde_json::from_str(extra)
            .map_err(|error| usage(format!("--extra: {error}, expected a JSON object")))?;
    }
    let (requests, times) = match &arguments.workload {
        Some(path) => read_workload(path, &target)?,
        None => (made_up(arguments, &target), None),
    };
    let seconds = |name: &str, seconds: f64| {
        let fits = (0.0..1e9).contains(&seconds);
        fits.then_some((seconds * SECOND_NS as f64) as u64)
            .ok_or_else(|| usage(format!("--{name} {seconds}: expected 0 to 1e9 seconds")))
    };
    let times = match arguments.rate {
        Some(rate) if rate > 0.0 && rate.is_finite() => {
            let at = |index: usize| (index as f64 / rate * SECOND_NS as f64) as u64;
            Some((0..requests.len()).map(at).collect())
        }
        Some(rate) => return Err(usage(format!("--rate {rate}: expected more than 0"))),
        None => times,
    };
    let arrival = match (times, arguments.concurrency) {
        (Some(intended_ns), cap) => Arrival::Open { intended_ns, cap },
        (None, Some(concurrency)) => Arrival::Closed { concurrency },
        (None, None) => {
            return Err(usage("a workload without times needs --concurrency".to_owned()));
        }
    };
    let mut plan = Plan::new(target.address, requests, arrival);
    plan.deadline_ns = seconds("deadline", arguments.deadline)?;
    plan.issue_ns = arguments.seconds.map(|limit| seconds("seconds", limit)).transpose()?;
    plan.threads = arguments.threads;
    plan.cores.clone_from(&arguments.cores);
    plan.connections = arguments.connections;
    plan.keeps_output = arguments.answers.is_some();
    Ok(plan)
}

fn made_up(arguments: &LoadArguments, target: &Target) -> Vec<Request> {
    let request = |index| {
        let prompt = distinct(arguments.seed, index, arguments.prompt_tokens);
        Request::new(target, &prompt, arguments.output_tokens)
    };
    (0..arguments.requests).map(request).collect()
}

/// Requests and, if every line has one, their times.
fn read_workload(
    path: &Path,
    target: &Target,
) -> Result<(Vec<Request>, Option<Vec<u64>>), CommandError> {
    let file = |source| CommandError::File { path: path.to_owned(), source };
    let (mut requests, mut times) = (Vec::new(), Vec::new());
    for (index, line) in BufReader::new(File::open(path).map_err(file)?).lines().enumerate() {
        let line: Line = serde_json::from_str(&line.map_err(file)?).map_err(|source| {
            CommandError::Line { path: path.to_owned(), line: index + 1, source }
        })?;
        requests.push(Request::new(target, &line.prompt, line.output_tokens));
        times.extend(line.at_ns);
    }
    if !times.is_empty() && times.len() != requests.len() {
        let (some, all) = (times.len(), requests.len());
        return Err(CommandError::Usage(format!(
            "{}: {some} of {all} lines have a time, expected all or none",
            path.display()
        )));
    }
    let times = (!times.is_empty()).then_some(times);
    Ok((requests, times))
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

/// First tokens and gaps of the requests that ended well.
pub(super) fn spans(traces: &[Trace]) -> (Spans, Spans) {
    let (mut ttft, mut gap) = (Spans::default(), Spans::default());
    for trace in traces.iter().filter(|trace| trace.end == crate::load::trace::End::Ok) {
        if let Some(ns) = Latency::of(trace).ttft_token_ns {
            ttft.add(ns);
        }
        for ns in arrivals(trace).map(|all| gaps(&all)).unwrap_or_default() {
            gap.add(ns);
        }
    }
    (ttft, gap)
}

fn summarise(outcome: &Outcome) -> Summary {
    let traces = &outcome.traces;
    let (ttft, gap) = spans(traces);
    let first = traces.iter().map(|trace| trace.sent_ns).min().unwrap_or(0);
    let last = traces.iter().map(|trace| trace.ended_ns).max().unwrap_or(0);
    let seconds = last.saturating_sub(first) as f64 / SECOND_NS as f64;
    let output_tokens: u64 = traces.iter().map(|trace| u64::from(tokens(trace))).sum();
    let limits = outcome.account.limits(gap.percentile(50.0));
    Summary {
        sent: outcome.sent,
        ends: Ends::of(traces),
        is_interrupted: outcome.is_interrupted,
        seconds,
        output_tokens,
        tokens_a_second: (seconds > 0.0).then(|| output_tokens as f64 / seconds),
        ttft: ttft.summary(),
        gap: gap.summary(),
        client: outcome.account.summary(),
        client_limits: limits.iter().map(ToString::to_string).collect(),
    }
}

/// Three numbers in milliseconds; what is not there says so.
pub(super) fn milliseconds(span: &SpanSummary) -> [String; 3] {
    [span.p50_ns, span.p99_ns, span.max_ns]
        .map(|ns| ns.map_or_else(|| "n/a".to_owned(), |ns| format!("{:.3}", ns as f64 / 1e6)))
}

fn text(summary: &Summary) -> String {
    let Ends { ok, truncated, error, http, connection, timed_out, short, wrong_length, cancelled } =
        summary.ends;
    let mut ends = super::table(&["ended", "requests"]);
    for (name, count) in [
        ("ok", ok),
        ("truncated", truncated),
        ("error", error),
        ("http", http),
        ("connection", connection),
        ("timed out", timed_out),
        ("short", short),
        ("wrong length", wrong_length),
        ("cancelled", cancelled),
    ] {
        if count > 0 {
            ends.add_row([name.to_owned(), count.to_string()]);
        }
    }
    ends.add_row(["sent".to_owned(), summary.sent.to_string()]);
    let mut times = super::table(&["ms", "p50", "p99", "max"]);
    for (name, span) in [
        ("first token", &summary.ttft),
        ("gap", &summary.gap),
        ("sent late", &summary.client.schedule_lag),
        ("unread", &summary.client.read_lag),
    ] {
        let [p50, p99, max] = milliseconds(span);
        times.add_row([name.to_owned(), p50, p99, max]);
    }
    let rate =
        summary.tokens_a_second.map_or_else(|| "n/a".to_owned(), |rate| format!("{rate:.0}"));
    let busy = summary.client.busy_share.unwrap_or(0.0);
    let mut limits = String::new();
    for limit in &summary.client_limits {
        let _ = writeln!(limits, "INVALID(client_limited): {limit}");
    }
    format!(
        "{}\n{}\n{} tokens in {:.3} s, {rate} a second; client busy {busy:.2}, {} in flight at most\n{limits}",
        super::table_text(&ends),
        super::table_text(&times),
        summary.output_tokens,
        summary.seconds,
        summary.client.peak_in_flight,
    )
}
