//! The client against the mock at one planned load: by how much it errs there, and whether it, not the server, is what would be
//! measured.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;

use serde::Serialize;

use super::collect::CollectError;
use crate::load::account::{AccountSummary, SpanSummary, Spans};
use crate::load::monotonic::SECOND_NS;
use crate::load::plan::{Arrival, Plan};
use crate::load::prompts::distinct;
use crate::load::request::{Dialect, Request, Target};
use crate::load::run::{Outcome, run};
use crate::load::trace::{End, Trace};
use crate::metric::ends::Ends;
use crate::metric::latency::{Latency, gaps};
use crate::metric::stream::arrivals;
use crate::mock::script::Pace;
use crate::mock::{Mock, Mode, Options, Served};

/// How far the 99th percentile of first tokens may be from the truth.
pub const TTFT_ERROR_NS: u64 = 5_000_000;
/// How far the 99th percentile of gaps may be from the truth.
pub const GAP_ERROR_NS: u64 = 1_500_000;
/// Different requests; more than these repeat, as the mock has no cache.
const PROMPTS: u32 = 64;

/// When requests go out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// So many streams, started one after the other over the time that one takes, and each replaced as it ends.
    Streams(usize),
    /// So many streams that all start at once and stay in step: every gap is a burst.
    Lockstep(usize),
    /// So many requests a second, whatever becomes of them.
    Rate(f64),
}

/// A load with known truth.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// When requests go out.
    pub load: Load,
    /// From the request to the first token.
    pub ttft_ns: u64,
    /// From token to token.
    pub gap_ns: u64,
    /// Tokens of each prompt.
    pub prompt_tokens: u32,
    /// Tokens of each answer.
    pub output_tokens: u32,
    /// How long requests go out.
    pub seconds: f64,
    /// Threads of the client.
    pub threads: usize,
    /// Their cores.
    pub cores: Vec<usize>,
    /// Threads of the mock.
    pub mock_threads: usize,
    /// Their cores.
    pub mock_cores: Vec<usize>,
    /// Client and mock run before everything else on their cores, as the client does beside a server that computes.
    pub comes_first: bool,
    /// A mock in another process that answers like this cell; none to start one here.
    pub mock: Option<SocketAddr>,
}

/// What the client is good for at a cell.
#[derive(Clone, Debug, Serialize)]
pub struct Certificate {
    /// The load.
    pub cell: Cell,
    /// Requests sent.
    pub sent: usize,
    /// How they ended.
    pub ends: Ends,
    /// Events with content a second, in the middle half of the run.
    pub events_per_second: Option<f64>,
    /// Requests ended a second, in the middle half of the run.
    pub requests_per_second: Option<f64>,
    /// First tokens later than the truth. The way to the mock and the mock's own lateness are in it.
    pub ttft_error: SpanSummary,
    /// Gaps off the truth, either way.
    pub gap_error: SpanSummary,
    /// The client's account of itself.
    pub client: AccountSummary,
    /// The mock's account of itself, if it ran here.
    pub mock: Option<Served>,
    /// Why the client is not to be trusted at this load; empty if it is.
    pub invalid: Vec<String>,
}

impl Cell {
    fn stream_ns(&self) -> u64 {
        self.ttft_ns + self.gap_ns * u64::from(self.output_tokens.saturating_sub(1))
    }

    fn arrival(&self) -> (usize, Arrival) {
        let run_ns = (self.seconds * SECOND_NS as f64) as u64;
        let per_second = match self.load {
            // As many as end are begun: their number stays what it is asked to be once the first has ended.
            Load::Streams(streams) => {
                streams as f64 * SECOND_NS as f64 / self.stream_ns().max(1) as f64
            }
            Load::Rate(rate) => rate,
            Load::Lockstep(concurrency) => {
                // More than can be sent in the time.
                let rounds = run_ns / self.stream_ns().max(10_000) + 1;
                let requests = (concurrency as u64 * rounds).min(20_000_000);
                return (requests as usize, Arrival::Closed { concurrency });
            }
        };
        let requests = (per_second * self.seconds) as usize;
        let at = |index: usize| (index as f64 / per_second * SECOND_NS as f64) as u64;
        (requests, Arrival::Open { intended_ns: (0..requests).map(at).collect(), cap: None })
    }

    fn connections(&self) -> usize {
        match self.load {
            // Some more than at any time, so that none is opened while it is measured.
            Load::Streams(streams) => streams + streams / 20 + 8,
            Load::Lockstep(_) => 0,
            Load::Rate(rate) => {
                (rate * self.stream_ns() as f64 / SECOND_NS as f64 * 1.2) as usize + 64
            }
        }
    }
}

/// Runs a cell and judges the client by it.
pub fn certify(cell: &Cell, stop: &AtomicBool) -> Result<Certificate, CollectError> {
    let mock = match cell.mock {
        Some(_) => None,
        None => Some(Mock::start(&Options {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            mode: Mode::Constant,
            pace: Pace { ttft_ns: cell.ttft_ns, gap_ns: cell.gap_ns },
            threads: cell.mock_threads,
            cores: cell.mock_cores.clone(),
            comes_first: cell.comes_first,
        })?),
    };
    let local = mock.as_ref().map(Mock::address);
    let address = cell.mock.or(local).unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
    let target = Target {
        address,
        host: address.to_string(),
        dialect: Dialect::Completions,
        model: None,
        extra: serde_json::Map::new(),
    };
    let (count, arrival) = cell.arrival();
    let prompts: Vec<Request> = (0..PROMPTS)
        .map(|index| {
            Request::new(&target, &distinct(1, index, cell.prompt_tokens), cell.output_tokens)
        })
        .collect();
    let requests = prompts.iter().cycle().take(count).cloned().collect();
    let mut plan = Plan::new(address, requests, arrival);
    plan.threads = cell.threads;
    plan.cores.clone_from(&cell.cores);
    plan.comes_first = cell.comes_first;
    plan.connections = cell.connections();
    plan.issue_ns = Some((cell.seconds * SECOND_NS as f64) as u64);
    let outcome = run(&plan, stop)?;
    Ok(certificate(cell, &outcome, mock.map(Mock::stop)))
}

/// Judges the client by what came of a cell.
pub fn certificate(cell: &Cell, outcome: &Outcome, mock: Option<Served>) -> Certificate {
    let (mut ttft_error, mut gap_error, mut gap) =
        (Spans::default(), Spans::default(), Spans::default());
    for trace in &outcome.traces {
        if let Some(ns) = Latency::of(trace).ttft_token_ns {
            ttft_error.add(ns.abs_diff(cell.ttft_ns));
        }
        for ns in arrivals(trace).map(|all| gaps(&all)).unwrap_or_default() {
            gap.add(ns);
            gap_error.add(ns.abs_diff(cell.gap_ns));
        }
    }
    let ends = Ends::of(&outcome.traces);
    let mut invalid: Vec<String> =
        outcome.account.limits(gap.percentile(50.0)).iter().map(ToString::to_string).collect();
    for (name, error, bound) in
        [("first tokens", &ttft_error, TTFT_ERROR_NS), ("gaps", &gap_error, GAP_ERROR_NS)]
    {
        if let Some(p99) = error.percentile(99.0).filter(|p99| *p99 > bound) {
            invalid.push(format!(
                "{name} are {p99} ns off at the 99th percentile, at most {bound} ns is allowed"
            ));
        }
    }
    if ends.ok != outcome.sent || outcome.sent == 0 {
        invalid.push(format!("{} of {} requests ended well", ends.ok, outcome.sent));
    }
    let (events_per_second, requests_per_second) = rates(&outcome.traces);
    Certificate {
        cell: cell.clone(),
        sent: outcome.sent,
        ends,
        events_per_second,
        requests_per_second,
        ttft_error: ttft_error.summary(),
        gap_error: gap_error.summary(),
        client: outcome.account.summary(),
        mock,
        invalid,
    }
}

/// Events with content and ended requests a second, in the middle half of the time between the first send and the last.
fn rates(traces: &[Trace]) -> (Option<f64>, Option<f64>) {
    let first = traces.iter().map(|trace| trace.sent_ns).min().unwrap_or(0);
    let last = traces.iter().map(|trace| trace.sent_ns).max().unwrap_or(0);
    let span = last.saturating_sub(first);
    let (from, to) = (first + span / 4, last - span / 4);
    if to <= from {
        return (None, None);
    }
    let is_inside = |at: u64| (from..to).contains(&at);
    let ok = traces.iter().filter(|trace| trace.end == End::Ok);
    let ended = ok.clone().filter(|trace| is_inside(trace.ended_ns)).count();
    let events = ok.flat_map(|trace| arrivals(trace).unwrap_or_default());
    let events = events.filter(|arrival| is_inside(arrival.at_ns)).count();
    let seconds = (to - from) as f64 / SECOND_NS as f64;
    (Some(events as f64 / seconds), Some(ended as f64 / seconds))
}
