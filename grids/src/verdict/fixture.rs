//! Series that never ran: plans and outcomes with a known truth.

use std::collections::BTreeMap;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::series::client::Calibrated;
use crate::series::{Client, Clients, Clock, Ended, Leg, Outcome, Outcomes, Plan, build};
use crate::spec::named;
use crate::statistics::distribution::normal_quantile;

/// The metric of [`ab`].
pub(crate) const METRIC: &str = "output_tokens_per_s";

/// `[plan]` and `[[axis]]` of an A/B at one cell.
pub(crate) struct Ab {
    pub pairs: u32,
    pub sessions: u32,
    pub spares: u32,
    pub looks: &'static str,
    pub claim: &'static str,
    pub statistic: &'static str,
    pub floor: f64,
}

pub(crate) const AB: Ab = Ab {
    pairs: 10,
    sessions: 1,
    spares: 0,
    looks: "[]",
    claim: "change",
    statistic: "location",
    floor: 0.5,
};
pub(crate) const PARITY: Ab = Ab { claim: "parity", ..AB };

/// The plan of an A/B: `b` over `a`, with the null arm `a-null`.
pub(crate) fn ab(of: &Ab) -> Plan {
    build(&named("test", ab_text(of), Path::new("test.toml")).unwrap())
}

/// The spec of [`ab`].
pub(crate) fn ab_text(of: &Ab) -> String {
    let Ab { pairs, sessions, spares, looks, claim, statistic, floor } = of;
    let margin =
        if *claim == "parity" { "margin = { percent = 2.0, because = \"test\" }" } else { "" };
    format!(
        r#"
summary = "test"
[ab]
reference = "a"
subject = "b"
concurrency = [8]
[launch]
checkpoint = "tiny"
threads = 1
context = 512
[arms.a]
engine = "plumb"
[arms.b]
engine = "plumb"
arguments = ["--change"]
[workload]
prompt-tokens = 16
output-tokens = 16
waves = 1
least-requests = 1
seed = 1
ids = {{ from = 1, to = 9 }}
[correct]
gates = {{ a = ["tokens"], b = ["tokens"] }}
[plan]
pairs = {pairs}
sessions = {sessions}
spares = {spares}
looks = {looks}
seed = 1
alpha = 0.05
[[axis]]
metric = "{METRIC}"
direction = "higher"
scale = "rate"
claim = "{claim}"
statistic = "{statistic}"
{margin}
equivalence = {{ percent = 2.0, because = "test" }}
floor = {{ percent = {floor}, because = "test" }}
"#
    )
}

/// What ln(metric) of a run is made of.
#[derive(Clone, Copy, Default)]
pub(crate) struct Model {
    /// What b is better by.
    pub effect: f64,
    /// Standard deviation from run to run.
    pub noise: f64,
    /// Standard deviation of what an arm's start brings in each session.
    pub session: f64,
    /// What each later slot of a block does.
    pub slot: f64,
    /// What the whole series does, linearly.
    pub drift: f64,
    /// What happens to everything in the middle of the series.
    pub step: f64,
    /// Half the distance between two modes of b, each as likely.
    pub modes: f64,
    /// What the clock of b is higher by: what it does to its rate stands in `effect`.
    pub clock: f64,
}

/// The outcomes of every leg of a plan.
pub(crate) fn simulate(plan: &Plan, model: &Model, seed: u64) -> Outcomes {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || normal_quantile(random.random_range(1e-12..1.0));
    let mut starts: BTreeMap<(u32, &str), f64> = BTreeMap::new();
    let count = plan.legs.len() as f64;
    let plan_sha256 = plan.sha256();
    let mut outcomes = Outcomes::new();
    for (index, leg) in plan.legs.iter().enumerate() {
        let start = *starts.entry((leg.session, &leg.arm)).or_insert_with(&mut normal);
        let mut log = 4.0 + model.noise * normal() + model.session * start;
        let part = index as f64 / count;
        log += model.slot * leg.slot as f64 + model.drift * part;
        log += if part > 0.5 { model.step } else { 0.0 };
        let is_b = leg.arm == "b";
        if is_b {
            let mode = if normal() > 0.0 { model.modes } else { -model.modes };
            log += model.effect + mode;
        }
        let mean = if is_b { 2000.0 * model.clock.exp() } else { 2000.0 };
        let clock = Some(Clock { mean, median: mean });
        let mut own = outcome(&plan_sha256, index as f64, log.exp(), clock);
        own.workload_sha256 = format!("{} {:?} {:?}", leg.session, leg.block, leg.role);
        outcomes.insert(leg.id.clone(), own);
    }
    outcomes
}

fn outcome(plan_sha256: &str, at_s: f64, value: f64, clock: Option<Clock>) -> Outcome {
    Outcome {
        plan_sha256: plan_sha256.to_owned(),
        at_s,
        ended: Ended::Measured(BTreeMap::from([(METRIC.to_owned(), value)])),
        violations: Vec::new(),
        workload_sha256: String::new(),
        clock,
        machine: "m".to_owned(),
        spoilt: vec![],
    }
}

/// Sets the value of a leg.
pub(crate) fn set(outcomes: &mut Outcomes, leg: &Leg, value: f64) {
    if let Some(Ended::Measured(metrics)) = outcomes.get_mut(&leg.id).map(|own| &mut own.ended) {
        metrics.insert(METRIC.to_owned(), value);
    }
}

/// A parity plan whose legs all ended well.
pub(crate) fn measured() -> (Plan, Outcomes) {
    let plan = ab(&PARITY);
    let outcomes = simulate(&plan, &Model { noise: 0.001, ..Model::default() }, 1);
    (plan, outcomes)
}

/// A client that was good at every cell of a plan: off by a quarter of a millisecond in first tokens, and half of that in gaps.
pub(crate) fn clients(plan: &Plan) -> Clients {
    let good = plan.client.map(|truth| Calibrated {
        truth,
        sent: 9,
        events_per_s: Some(200.0),
        ttft_off_ms_p99: Some(0.25),
        gap_off_ms_p99: Some(0.125),
        invalid: Vec::new(),
    });
    let client = Client { before: good.clone(), after: good };
    plan.cells.iter().map(|cell| (cell.id.clone(), client.clone())).collect()
}
