//! A series on other machines: its cells go to a scheduler, and their outcomes come back by the folder of the series.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use oracles::Progress;

use super::{CommandError, complain};
use crate::load::interrupt;
use crate::series::{Outcome, Plan, State, harness, state};
use crate::slurm::script::Job;
use crate::slurm::{Array, Partition, Watch};

/// How often the queue is asked.
const POLL: Duration = Duration::from_secs(2);
/// How often the scheduler is asked to cancel.
const CANCELS: u32 = 15;

/// Where to.
pub(super) struct On<'a> {
    /// The partition.
    pub partition: &'a Partition,
    /// How many allocations; one a cell where none is said.
    pub allocations: Option<u32>,
    /// The folder of the series.
    pub folder: &'a Path,
}

/// Submits, waits until every element has ended, and gives what they left, with whether the user stopped it.
pub(super) fn conduct(
    plan: &Plan,
    on: &On<'_>,
    arguments: &[String],
) -> Result<(State, bool), CommandError> {
    harness::keep(on.folder, &harness::own()?)?;
    let state = State::open(on.folder, plan)?;
    // Skipped legs are run where their arm has come, which the allocations see.
    if state.pending(plan).next().is_none() && state.outcomes().values().all(Outcome::was_begun) {
        return Ok((state, false));
    }
    let folder = std::path::absolute(on.folder).map_err(|source| file(on.folder, source))?;
    let logs = folder.join("slurm");
    std::fs::create_dir_all(&logs).map_err(|source| file(&logs, source))?;
    let program = std::env::current_exe().map_err(|source| file(Path::new("grid"), source))?;
    let most = plan.cells.len() as u32;
    let job = Job {
        partition: &on.partition.0,
        name: &format!("grid-{}", plan.grid),
        allocations: on.allocations.unwrap_or(most).clamp(1, most),
        logs: &logs,
        program: &program,
        arguments,
    };
    let stop = interrupt::on_signal()?;
    let array = Array::submit(&job)?;
    complain(&format!(
        "job {} of {} allocations; logs in {}",
        array.id,
        job.allocations,
        logs.display()
    ));
    let mut watch = Watch::new(job.allocations);
    let followed = follow(&array, &mut watch, plan, on.folder, stop);
    if !matches!(followed, Ok(true)) {
        // Whatever made us leave, nothing of ours stays in the queue.
        cancel(&array)?;
    }
    let has_ended = followed?;
    for (index, element) in watch.incomplete().filter(|_| has_ended) {
        let log = logs.join(format!("{index}.log"));
        complain(&format!("allocation {index} ended as {element}: {}", log.display()));
    }
    Ok((State::open(on.folder, plan)?, !has_ended))
}

/// Waits until every element has ended; `false` where the user wants to stop before.
fn follow(
    array: &Array,
    watch: &mut Watch,
    plan: &Plan,
    folder: &Path,
    stop: &AtomicBool,
) -> Result<bool, CommandError> {
    let mut stage = Progress::stderr().steps("legs", Some(plan.legs.len() as u64));
    while !stop.load(Ordering::SeqCst) {
        match array.states() {
            Ok(states) => {
                for (index, element) in watch.answered(states) {
                    complain(&format!("allocation {index}: {element}"));
                }
            }
            Err(error) => {
                if watch.unanswered() {
                    return Err(error.into());
                }
                if watch.is_newly_unanswered() {
                    complain(&format!("{error}; asked again"));
                }
            }
        }
        stage.set(state::count(folder, plan)? as u64);
        if watch.has_ended() {
            return Ok(true);
        }
        thread::sleep(POLL);
    }
    Ok(false)
}

/// Cancels it; a scheduler that does not answer at once is asked again.
fn cancel(array: &Array) -> Result<(), CommandError> {
    for _ in 1..CANCELS {
        if array.cancel().is_ok() {
            return Ok(());
        }
        thread::sleep(POLL);
    }
    Ok(array.cancel()?)
}

fn file(path: &Path, source: std::io::Error) -> CommandError {
    CommandError::File { path: path.to_owned(), source }
}
