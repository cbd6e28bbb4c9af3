//! A series on other machines: its cells go to a scheduler, and their outcomes come back by the folder of the series.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use oracles::Progress;

use super::{CommandError, complain};
use crate::load::interrupt;
use crate::series::{Plan, State};
use crate::slurm::queue::{Element, States};
use crate::slurm::script::Job;
use crate::slurm::{Array, Partition};

/// How often the queue is asked.
const POLL: Duration = Duration::from_secs(2);

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
    let state = State::open(on.folder, plan)?;
    let before = state.pending(plan).count();
    if before == 0 {
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
    let mut stage = Progress::stderr().steps("legs", Some(before as u64));
    let mut last = States::new();
    loop {
        let states = array.states()?;
        // What Slurm has forgotten ended some minutes ago.
        let have_ended = states.values().all(Element::has_ended);
        for (index, element) in states {
            if last.get(&index) != Some(&element) {
                complain(&format!("allocation {index}: {element}"));
            }
            last.insert(index, element);
        }
        let state = State::open(on.folder, plan)?;
        stage.set((before - state.pending(plan).count().min(before)) as u64);
        if have_ended {
            tell_incomplete(&last, &logs);
            return Ok((state, false));
        }
        if stop.load(Ordering::SeqCst) {
            array.cancel()?;
            return Ok((State::open(on.folder, plan)?, true));
        }
        thread::sleep(POLL);
    }
}

/// The allocations that did not come to their end, each with its log.
fn tell_incomplete(states: &States, logs: &Path) {
    for (index, element) in states.iter().filter(|(_, element)| !element.is_complete()) {
        let log = logs.join(format!("{index}.log"));
        complain(&format!("allocation {index} ended as {element}: {}", log.display()));
    }
}

fn file(path: &Path, source: std::io::Error) -> CommandError {
    CommandError::File { path: path.to_owned(), source }
}
