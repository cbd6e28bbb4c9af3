//! Conducting a series: the lock, the servers of each session, every leg in the plan's order, its outcome on disk. The verdict is
//! asked of the outcomes afterwards, by somebody else.
//!
//! | module | what it does |
//! |---|---|
//! | [`attempts`] | a leg that the machine spoilt, run again |
//! | [`calibration`] | the client against a server of known truth |
//! | [`servers`] | starts each arm once a session and keeps it |
//! | [`leg`] | one load on one arm, between an opened and a closed window |
//! | [`metrics`] | the numbers of a leg by the names that axes use |
//! | [`quiet`] | waits until the machine has come to rest |
//! | [`raw`] | traces and windows as they came |
//! | [`samples`] | requests, and the machine around legs, as they go on record |
//! | [`told`] | what is told while a series runs |
//! | [`warmth`] | where a server has yet to run what is discarded |

pub mod attempts;
pub mod calibration;
pub mod leg;
pub mod metrics;
pub mod quiet;
pub mod raw;
pub mod samples;
pub mod servers;
pub mod told;
pub mod warmth;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use attempts::Attempted;
use calibration::calibrate;

use crate::arm::{ArmError, Ground};
use crate::clocks::judge::clock::Source;
use crate::clocks::window::Between;
use crate::load::plan::LoadError;
use crate::selftest::collect::CollectError;
use crate::series::client::When;
use crate::series::{
    Cell, Ended, KnownError, Leg, Lock, LockError, Outcome, Plan, State, StateError, harness, lock,
    machine,
};
use crate::slurm::Share;
use crate::spec::ArmSpec;
use crate::workload::WorkloadError;
use servers::Servers;
use told::so_far;

/// How often a share asks whether the machine is free.
const LOCK_POLL: Duration = Duration::from_millis(500);

/// Where and with what a series is conducted.
pub struct Setting<'a> {
    /// Where arms are started from.
    pub ground: Ground<'a>,
    /// The arms as the spec declares them.
    pub arms: BTreeMap<String, ArmSpec>,
    /// The folder of the series: its plan, outcomes and raw traces.
    pub folder: &'a Path,
    /// Which clock decides.
    pub clock: Source,
    /// The part of the plan's cells that is conducted here; all of them where a series runs on one machine.
    pub share: Option<Share>,
    /// Requests in flight of the cells that are conducted now; all of them where it is empty.
    pub only: &'a [u32],
    /// Set when the user wants to stop; what is measured so far stays.
    pub stop: &'a AtomicBool,
}

/// How far a series came.
#[derive(Debug)]
pub struct Conducted {
    /// The outcomes, and where they lie.
    pub state: State,
    /// The user stopped it.
    pub is_interrupted: bool,
}

/// A series that cannot be conducted.
#[derive(Debug, thiserror::Error)]
pub enum ConductError {
    /// Somebody else measures.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The folder.
    #[error(transparent)]
    State(#[from] StateError),
    /// The prompts.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The client.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// An arm that contradicts its pin; one that is missing is skipped instead.
    #[error(transparent)]
    Arm(#[from] ArmError),
    /// What is known of an arm, or another arm than the series began with.
    #[error(transparent)]
    Known(#[from] KnownError),
    /// The client could not be held against the truth.
    #[error(transparent)]
    Client(#[from] CollectError),
    /// Raw traces cannot be kept or read.
    #[error("raw traces: {path}")]
    Raw {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// Runs the legs of `plan` that have no outcome yet.
pub fn conduct(plan: &Plan, setting: &Setting<'_>) -> Result<Conducted, ConductError> {
    let sha256 = plan.sha256();
    let holder = format!("grid {}, plan {}", plan.grid, &sha256[..12]);
    let place = Path::new(lock::PLACE);
    harness::keep(setting.folder, &harness::own()?)?;
    let ours = cells(plan, setting);
    let _cells = Lock::cells(setting.folder, ours.iter().copied(), &holder)?;
    // A share that was given a machine waits for it; a person is told who has it.
    let _lock = match setting.share {
        Some(_) => Lock::wait(place, &holder, LOCK_POLL, setting.stop)?,
        None => Some(Lock::take(place, &holder)?),
    };
    let machine = machine::keep(setting.folder, &machine::Host::capture())?;
    let mut servers = Servers::new(setting, plan);
    let is_ours = |leg: &Leg| ours.iter().any(|cell| cell.id == leg.cell);
    let mut state = opened(plan, setting, &servers, is_ours)?;
    let to_go = state.pending(plan).filter(|leg| is_ours(leg)).count();
    let unrest = if to_go == 0 { None } else { quiet::wait(setting.ground.progress, setting.stop) };
    let mut stage = setting.ground.progress.steps("legs", Some(to_go as u64));
    // A series that goes on continues its own time: the pause between two sittings is not part of it.
    let earlier = state.outcomes().values().map(|outcome| outcome.at_s).fold(0.0, f64::max);
    let (began, mut done) = (Instant::now(), 0);
    let mut between = None;
    for leg in plan.legs.iter().filter(|leg| is_ours(leg)) {
        if setting.stop.load(Ordering::SeqCst) {
            break;
        }
        // Asked leg by leg: whether a spare block has to run is known when all blocks before it are.
        if !state.is_pending(plan, leg) {
            continue;
        }
        let to_go = state.pending(plan).filter(|leg| is_ours(leg)).count();
        stage.set_total((done + to_go) as u64);
        stage.say(&format!("{}{}", leg.id, so_far(plan, state.outcomes(), &leg.cell)));
        held(plan, leg, When::Before, setting, &mut between)?;
        let now_s = || earlier + began.elapsed().as_secs_f64();
        let Attempted { at_s, measured: ended, spoilt } = match servers.of(leg)? {
            Ok(server) => attempts::measure(plan, leg, server, setting, now_s, &mut between)?,
            Err(missing) => Attempted::skipped(missing, now_s()),
        };
        // Half a leg is none.
        if ended.is_interrupted {
            break;
        }
        state.vacant(leg)?;
        if let Some(raw) = &ended.raw {
            raw::keep(setting.folder, &leg.id, raw)?;
        }
        let died = matches!(ended.ended, Ended::Failed(_));
        let outcome = Outcome {
            plan_sha256: sha256.clone(),
            at_s,
            ended: ended.ended,
            violations: ended.violations.into_iter().chain(unrest.clone()).collect(),
            workload_sha256: ended.workload_sha256,
            clock: ended.clock,
            machine: machine.clone(),
            spoilt,
        };
        state.keep(plan, &leg.id, outcome)?;
        if died {
            servers.stop(leg);
        }
        stage.advance(1);
        done += 1;
        if !state.pending(plan).any(|other| other.cell == leg.cell) {
            held(plan, leg, When::After, setting, &mut between)?;
        }
    }
    let is_interrupted = setting.stop.load(Ordering::SeqCst);
    Ok(Conducted { state, is_interrupted })
}

/// Holds the client against the truth at the cell of a leg. The spin that closed the leg before does not open one after that.
fn held(
    plan: &Plan,
    leg: &Leg,
    when: When,
    setting: &Setting<'_>,
    between: &mut Option<Between>,
) -> Result<(), ConductError> {
    let Some(cell) = plan.cells.iter().find(|cell| cell.id == leg.cell) else { return Ok(()) };
    if calibrate(plan, cell, when, setting)? {
        *between = None;
    }
    Ok(())
}

/// The cells that are conducted here and now.
fn cells<'a>(plan: &'a Plan, setting: &Setting<'_>) -> Vec<&'a Cell> {
    let mut ours: Vec<&Cell> =
        setting.share.map_or_else(|| plan.cells.iter().collect(), |share| share.cells(plan));
    ours.retain(|cell| setting.only.is_empty() || setting.only.contains(&cell.concurrency));
    ours
}

/// The series as it was left, without what has to be measured again.
fn opened(
    plan: &Plan,
    setting: &Setting<'_>,
    servers: &Servers<'_>,
    is_ours: impl Fn(&Leg) -> bool,
) -> Result<State, ConductError> {
    let progress = setting.ground.progress;
    let mut state = State::open(setting.folder, plan)?;
    for torn in state.torn() {
        progress.note(&format!("{} is no outcome", torn.display()));
    }
    let come = servers.come(&state)?;
    for leg in state.reopen(plan, is_ours, |leg| come.contains(&leg.arm))? {
        raw::set_aside(setting.folder, &leg)?;
        progress.note(&format!("{leg} is run again, with its whole block"));
    }
    Ok(state)
}
