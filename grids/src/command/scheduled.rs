//! A series on other machines: its cells go to a scheduler, and their outcomes come back by the folder of the series.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use oracles::Progress;

use super::{CommandError, complain};
use crate::load::interrupt;
use crate::series::{Plan, State};
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
    let mut last: BTreeMap<u32, String> = BTreeMap::new();
    loop {
        let states = array.states()?;
        for (index, element) in &states {
            let reason =
                element.reason.as_deref().map_or_else(String::new, |why| format!(" ({why})"));
            let told = format!("{}{reason}", element.state);
            if last.get(index) != Some(&told) {
                complain(&format!("allocation {index}: {told}"));
                last.insert(*index, told);
            }
        }
        let left = State::open(on.folder, plan)?.pending(plan).count();
        stage.set((before - left.min(before)) as u64);
        if states.values().all(crate::slurm::queue::Element::has_ended) {
            break;
        }
        if stop.load(Ordering::SeqCst) {
            array.cancel()?;
            return Ok((State::open(on.folder, plan)?, true));
        }
        thread::sleep(POLL);
    }
    for (index, state) in last.iter().filter(|(_, state)| *state != "COMPLETED") {
        complain(&format!(
            "allocation {index} ended as {state}: {}",
            logs.join(format!("{index}.log")).display()
        ));
    }
    Ok((State::open(on.folder, plan)?, false))
}

fn file(path: &Path, source: std::io::Error) -> CommandError {
    CommandError::File { path: path.to_owned(), source }
}
