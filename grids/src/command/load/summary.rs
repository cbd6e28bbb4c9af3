//! What a load came to, as it is printed.

use std::fmt::Write as _;

use serde::Serialize;

use super::super::{table, table_text};
use super::probe::cell;
use crate::load::account::{AccountSummary, SpanSummary, Spans};
use crate::load::monotonic::SECOND_NS;
use crate::load::plan::{Arrival, Plan};
use crate::load::run::Outcome;
use crate::load::trace::{End, Trace};
use crate::metric::distribution::{Distribution, PERCENTILES};
use crate::metric::ends::Ends;
use crate::metric::goodput::Objectives;
use crate::metric::identity;
use crate::metric::latency::{Latency, gaps};
use crate::metric::leg::{Latencies, Leg, Planned};
use crate::metric::stream::{arrivals, tokens};

/// What is printed.
#[derive(Debug, Serialize)]
pub(in crate::command) struct Summary {
    pub(in crate::command) sent: usize,
    pub(in crate::command) ends: Ends,
    is_interrupted: bool,
    seconds: f64,
    output_tokens: u64,
    tokens_a_second: Option<f64>,
    ttft: SpanSummary,
    gap: SpanSummary,
    client: AccountSummary,
    /// Why the client was at its limit; empty if it was not.
    pub(in crate::command) client_limits: Vec<String>,
    /// What must hold between the numbers and does not.
    pub(in crate::command) broken: Vec<String>,
    /// Everything that is derived.
    pub(in crate::command) leg: Leg,
    /// Of conversations, each turn.
    turns: Vec<TurnSummary>,
}

/// One turn of all conversations.
#[derive(Debug, Serialize)]
struct TurnSummary {
    /// From 1.
    turn: u32,
    /// Tokens of a prompt, on average.
    prompt_tokens: f64,
    latencies: Latencies,
}

/// First tokens and gaps of the requests that ended well.
pub(in crate::command) fn spans(traces: &[Trace]) -> (Spans, Spans) {
    let (mut ttft, mut gap) = (Spans::default(), Spans::default());
    for trace in traces.iter().filter(|trace| trace.end == End::Ok) {
        if let Some(ns) = Latency::of(trace).ttft_token_ns {
            ttft.add(ns);
        }
        for ns in arrivals(trace).map(|all| gaps(&all)).unwrap_or_default() {
            gap.add(ns);
        }
    }
    (ttft, gap)
}

/// What came of a load, from one client or several.
#[derive(Debug)]
pub(in crate::command) struct Loaded {
    pub(in crate::command) traces: Vec<Trace>,
    pub(in crate::command) sent: usize,
    pub(in crate::command) is_interrupted: bool,
    pub(in crate::command) client: AccountSummary,
    pub(in crate::command) client_limits: Vec<String>,
}

impl Loaded {
    /// Of one client.
    pub(in crate::command) fn of(outcome: Outcome) -> Self {
        let (_, gap) = spans(&outcome.traces);
        let limits = outcome.account.limits(gap.percentile(50.0));
        Self {
            sent: outcome.sent,
            is_interrupted: outcome.is_interrupted,
            client: outcome.account.summary(),
            client_limits: limits.iter().map(ToString::to_string).collect(),
            traces: outcome.traces,
        }
    }

    /// Of none.
    pub(in crate::command) fn none() -> Self {
        Self {
            traces: Vec::new(),
            sent: 0,
            is_interrupted: false,
            client: AccountSummary::default(),
            client_limits: Vec::new(),
        }
    }
}

/// Everything that is printed of a load that was sent as planned.
pub(in crate::command) fn summarise(
    plan: &Plan,
    loaded: Loaded,
    objectives: Objectives,
) -> Summary {
    let Loaded { traces, sent, is_interrupted, client, client_limits } = loaded;
    let traces = &traces;
    let (ttft, gap) = spans(traces);
    let first = traces.iter().map(|trace| trace.sent_ns).min().unwrap_or(0);
    let last = traces.iter().map(|trace| trace.ended_ns).max().unwrap_or(0);
    let seconds = last.saturating_sub(first) as f64 / SECOND_NS as f64;
    let output_tokens: u64 = traces.iter().map(|trace| u64::from(tokens(trace))).sum();
    let concurrency = match plan.arrival {
        Arrival::Closed { concurrency } => Some(concurrency as u32),
        Arrival::Open { .. } => None,
    };
    let planned = Planned { concurrency, window: None, objectives };
    Summary {
        sent,
        ends: Ends::of(traces),
        is_interrupted,
        seconds,
        output_tokens,
        tokens_a_second: (seconds > 0.0).then(|| output_tokens as f64 / seconds),
        ttft: ttft.summary(),
        gap: gap.summary(),
        client,
        client_limits,
        broken: identity::identities(traces, sent)
            .into_iter()
            .map(|violation| violation.reason)
            .collect(),
        leg: Leg::of(traces, &planned),
        turns: turns(plan, traces),
    }
}

fn turns(plan: &Plan, traces: &[Trace]) -> Vec<TurnSummary> {
    let Some(conversations) = &plan.conversations else { return Vec::new() };
    let count = conversations.turns.first().map_or(0, Vec::len) as u32;
    let of = |turn: u32| {
        let own = traces.iter().filter(|trace| conversations.turn(trace.request) == turn);
        let own: Vec<Trace> = own.cloned().collect();
        let prompts: u64 = own.iter().map(|trace| u64::from(trace.prompt_tokens)).sum();
        (!own.is_empty()).then(|| TurnSummary {
            turn: turn + 1,
            prompt_tokens: prompts as f64 / own.len() as f64,
            latencies: Latencies::of(&own),
        })
    };
    (0..count).filter_map(of).collect()
}

/// Three numbers in milliseconds; what is not there says so.
pub(in crate::command) fn milliseconds(span: &SpanSummary) -> [String; 3] {
    [span.p50_ns, span.p99_ns, span.max_ns]
        .map(|ns| ns.map_or_else(|| "n/a".to_owned(), |ns| format!("{:.3}", ns as f64 / 1e6)))
}

/// Percentiles of a distribution, each with what bounds it, or how many requests it takes.
fn row(name: &str, found: Option<&Distribution>) -> Option<Vec<String>> {
    let found = found?;
    let percentile = |at: &crate::metric::distribution::Percentile| match at.between_ms {
        Some((lower, upper)) if at.value_ms.is_some() => format!("{at} [{lower:.2}, {upper:.2}]"),
        _ => at.to_string(),
    };
    let mut cells = vec![name.to_owned(), found.n.to_string(), format!("{:.2}", found.mean_ms)];
    cells.extend(found.percentiles.iter().map(percentile));
    cells.push(format!("{:.2}", found.max_ms));
    Some(cells)
}

fn distributions(latencies: &Latencies) -> String {
    let mut header = vec!["ms".to_owned(), "n".to_owned(), "mean".to_owned()];
    header.extend(PERCENTILES.iter().map(|p| format!("p{p}")));
    header.push("max".to_owned());
    let mut times = table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for (name, found) in [
        ("TTFT", &latencies.ttft_token),
        ("TTFT since intended", &latencies.ttft_intended),
        ("TPOT", &latencies.tpot),
        ("ITL, gaps", &latencies.itl_gap),
        ("ITL, each token", &latencies.itl_token),
        ("longest gap", &latencies.stall_max_gap),
        ("E2E, last token", &latencies.e2e_last_token),
        ("E2E since intended", &latencies.e2e_intended),
    ] {
        if let Some(cells) = row(name, found.as_ref()) {
            times.add_row(cells);
        }
    }
    table_text(&times)
}

fn ends(summary: &Summary) -> String {
    let Ends { ok, truncated, error, http, connection, timed_out, short, wrong_length, cancelled } =
        summary.ends;
    let mut ends = table(&["ended", "requests"]);
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
    table_text(&ends)
}

fn client(summary: &Summary) -> String {
    let mut times = table(&["client, ms", "p50", "p99", "max"]);
    for (name, span) in
        [("sent late", &summary.client.schedule_lag), ("unread", &summary.client.read_lag)]
    {
        let [p50, p99, max] = milliseconds(span);
        times.add_row([name.to_owned(), p50, p99, max]);
    }
    table_text(&times)
}

fn turn_table(turns: &[TurnSummary]) -> String {
    let mut all = table(&["turn", "requests", "prompt tokens", "TTFT p50", "TTFT p99", "TPOT p50"]);
    for TurnSummary { turn, prompt_tokens, latencies } in turns {
        all.add_row([
            turn.to_string(),
            latencies.ttft_token.as_ref().map_or(0, |found| found.n).to_string(),
            format!("{prompt_tokens:.0}"),
            cell(latencies.ttft_token.as_ref(), 50.0),
            cell(latencies.ttft_token.as_ref(), 99.0),
            cell(latencies.tpot.as_ref(), 50.0),
        ]);
    }
    table_text(&all)
}

/// The lines for a person; with `aliases` what other tools would have printed too.
pub(in crate::command) fn text(summary: &Summary, aliases: bool) -> String {
    let rate =
        summary.tokens_a_second.map_or_else(|| "n/a".to_owned(), |rate| format!("{rate:.0}"));
    let mut text = format!(
        "{}\n{}\n{}\n",
        ends(summary),
        distributions(&summary.leg.latencies),
        client(summary)
    );
    if !summary.turns.is_empty() {
        text += &(turn_table(&summary.turns) + "\n");
    }
    let _ = writeln!(
        text,
        "{} tokens in {:.3} s, {rate} a second; client busy {:.2}, {} in flight at most",
        summary.output_tokens,
        summary.seconds,
        summary.client.busy_share.unwrap_or(0.0),
        summary.client.peak_in_flight,
    );
    if let Some(steady) = &summary.leg.steady {
        let _ = writeln!(
            text,
            "steady for {:.3} s: {:.1} output tokens a second, {:.2} requests a second",
            steady.window.length_ns() as f64 / SECOND_NS as f64,
            steady.output,
            steady.requests,
        );
    }
    if let Some(goodput) = &summary.leg.goodput {
        let _ = writeln!(
            text,
            "goodput: {} of {} met the objectives, {:.2} a second; {} missed, {} undetermined",
            goodput.good, goodput.sent, goodput.per_second, goodput.missed, goodput.undetermined,
        );
    }
    if aliases {
        let mut names = table(&["as other tools print it, ms", "mean", "p50", "p99"]);
        for alias in &summary.leg.aliases {
            let three = |ms: f64| format!("{ms:.3}");
            names.add_row([
                alias.name.clone(),
                three(alias.mean_ms),
                three(alias.p50_ms),
                three(alias.p99_ms),
            ]);
        }
        text.push('\n');
        text += &table_text(&names);
    }
    for limit in &summary.client_limits {
        let _ = writeln!(text, "INVALID(client_limited): {limit}");
    }
    for broken in &summary.broken {
        let _ = writeln!(text, "INVALID: {broken}");
    }
    text
}
