//! One leg: the prompts of its place in the plan, one load on one server, and every rule asked of what came back.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::raw::Raw;
use super::{ConductError, Setting, metrics};
use crate::arm::Running;
use crate::clocks::judge;
use crate::clocks::judge::clock::{Clock as Busy, Source};
use crate::clocks::window::{Between, Open};
use crate::correct::agreement::Said;
use crate::load::monotonic::now_ns;
use crate::load::plan::{Arrival, Plan as Load};
use crate::load::request::{Prompt, Request};
use crate::load::run::{Outcome, run};
use crate::metric::leg::{Leg as Derived, Planned};
use crate::metric::{identity, validity};
use crate::rule::{Rule, Violation};
use crate::series::{Clock, Ended, Leg, Plan, Role};
use crate::spec::PrefixCache;
use crate::statistics;
use crate::workload::vocabulary::Vocabulary;
use crate::workload::{Item, WorkloadError, digest, prefix, unique};

/// How long a leg waits for a core that is steady, where the core's clock decides. What it waits for is a second and a half.
const PATIENCE: Duration = Duration::from_secs(15);

/// What became of a leg, before it is kept.
pub struct Measured {
    /// How it ended.
    pub ended: Ended,
    /// Every rule that it broke.
    pub violations: Vec<Violation>,
    /// The name of what was asked.
    pub workload_sha256: String,
    /// The clock while it ran.
    pub clock: Option<Clock>,
    /// As it came; none where nothing was sent.
    pub raw: Option<Raw>,
    /// The user stopped it.
    pub is_interrupted: bool,
}

impl Measured {
    /// Of a leg whose server was gone. Whoever stops us may have stopped the server too: then it is no failure, and not kept.
    fn refused(why: String, is_stopping: bool) -> Self {
        Self { is_interrupted: is_stopping, ..Self::bare(Ended::Failed(why)) }
    }

    /// Of a leg that was not begun.
    pub fn bare(ended: Ended) -> Self {
        Self {
            ended,
            violations: Vec::new(),
            workload_sha256: String::new(),
            clock: None,
            raw: None,
            is_interrupted: false,
        }
    }
}

/// What is asked in a leg: the same for every arm at the same place of the plan, and nowhere twice.
pub fn items(plan: &Plan, leg: &Leg) -> Result<Vec<Item>, WorkloadError> {
    let workload = &plan.workload;
    let cell = plan.cells.iter().find(|cell| cell.id == leg.cell);
    let in_flight = cell.map_or(1, |cell| cell.concurrency);
    let place = match (leg.role, leg.block) {
        (Role::Measured, Some(block)) => format!("b{block}"),
        (Role::Discarded, _) => "warm".to_owned(),
        (Role::Terminal | Role::Measured, _) => "end".to_owned(),
    };
    let partition = format!("s{}.{}.{place}", leg.session, leg.cell);
    let vocabulary = Vocabulary::new(workload.ids.to.0 + 1, &(0..workload.ids.from).collect())?;
    let lengths = (workload.prompt_tokens.0, workload.output_tokens.0);
    let count = (in_flight * workload.waves.0).max(workload.least_requests.0) as usize;
    let items = unique::items(&vocabulary, workload.seed, &partition, vec![lengths; count]);
    prefix::check_unique(&items.iter().map(|item| &item.ids[..]).collect::<Vec<_>>())?;
    Ok(items)
}

/// Puts the leg's load on the server. `between` is the spin that closed the leg before it.
pub fn measure(
    plan: &Plan,
    leg: &Leg,
    server: &Running,
    setting: &Setting<'_>,
    between: Option<&Between>,
) -> Result<Measured, ConductError> {
    let items = items(plan, leg)?;
    let concurrency =
        plan.cells.iter().find(|cell| cell.id == leg.cell).map_or(1, |c| c.concurrency);
    let workload_sha256 = digest::of_ids(items.iter().map(|item| &item.ids[..]));
    let request =
        |item: Item| Request::new(&server.target, &Prompt::Ids(item.ids), item.output_tokens);
    let requests = items.into_iter().map(request).collect();
    let arrival = Arrival::Closed { concurrency: concurrency as usize };
    let plain = Load::new(server.target.address, requests, arrival);
    let load = Load { keeps_output: true, comes_first: true, ..plain };
    let patience = if setting.clock == Source::Spin { PATIENCE } else { Duration::ZERO };
    let opened_ns = now_ns();
    let open = Open::open(patience, between);
    let outcome = run(&load, setting.stop);
    let ours: Vec<u32> = [Some(std::process::id()), server.process].into_iter().flatten().collect();
    let window = open.close(&ours);
    let closed_ns = now_ns();
    let outcome = match outcome {
        Ok(outcome) => outcome,
        // The server is gone: the leg failed. Anything else is ours to mend.
        Err(crate::load::plan::LoadError::Connect { address, source }) => {
            let why = format!("nobody listens at {address}: {source}");
            let is_stopping = setting.stop.load(Ordering::SeqCst);
            return Ok(Measured { workload_sha256, ..Measured::refused(why, is_stopping) });
        }
        Err(error) => return Err(error.into()),
    };
    let planned = Planned { concurrency: Some(concurrency), ..Planned::default() };
    let derived = Derived::of(&outcome.traces, &planned);
    let mut violations = broken(&outcome, concurrency, &derived);
    if plan.launch.prefix_cache == PrefixCache::Off {
        violations.extend(validity::cache_off(&outcome.traces, server.prefix_cache));
    }
    violations.extend(judge::leg(Some(&window), setting.clock, &ours));
    let (before, after) = (window.available_before_kib, window.available_after_kib);
    violations.extend(judge::memory::returned(before, after));
    let clock = clock(&Busy::of(&[&window], setting.clock), setting.clock);
    let ended = Ended::Measured(metrics::of(&derived));
    let is_interrupted = outcome.is_interrupted || setting.stop.load(Ordering::SeqCst);
    let account = outcome.account.summary();
    let said = outcome.outputs.iter().map(Said::of).collect();
    let (start_ns, traces) = (outcome.start_ns, outcome.traces);
    let raw = Raw { opened_ns, closed_ns, start_ns, traces, window, account, said };
    Ok(Measured { ended, violations, workload_sha256, clock, raw: Some(raw), is_interrupted })
}

/// Every rule that the traces and the client's account of itself break.
fn broken(outcome: &Outcome, concurrency: u32, derived: &Derived) -> Vec<Violation> {
    let traces = &outcome.traces;
    let mut found: Vec<Violation> = [
        validity::failed(traces),
        validity::count(traces),
        validity::truncated(traces),
        validity::buffered(traces),
        validity::concurrency(traces, concurrency),
        validity::sse(traces),
    ]
    .into_iter()
    .flatten()
    .collect();
    found.extend(identity::identities(traces, outcome.sent));
    let median = derived.latencies.itl_gap.as_ref().and_then(|gaps| gaps.at(50.0));
    let limits = outcome.account.limits(median.map(|ms| (ms * 1e6) as u64));
    found.extend(limits.iter().map(|limit| Violation::new(Rule::Client, limit.to_string())));
    found
}

/// The busy clock in a unit that grows with it: MHz, or steps of the spin per microsecond.
fn clock(busy: &Busy, source: Source) -> Option<Clock> {
    let mut values: Vec<f64> = match source {
        Source::Gpu => busy.busy.clone(),
        Source::Spin => busy.busy.iter().map(|ns| 1e3 / ns).collect(),
    };
    values.sort_unstable_by(f64::total_cmp);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let median = statistics::percentile(&values, 50.0)?;
    mean.is_finite().then_some(Clock { mean, median })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_gone_while_we_stop_did_not_fail() {
        let of = |is_stopping| Measured::refused("gone".to_owned(), is_stopping);
        assert!(of(true).is_interrupted && !of(false).is_interrupted);
        assert_eq!(of(false).ended, Ended::Failed("gone".to_owned()));
    }
}
