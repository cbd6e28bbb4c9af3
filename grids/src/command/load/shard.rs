//! A load from several allocations of a scheduler: each sends its share of one plan from the same moment, and the traces are put
//! together again under the run's id.
//!
//! Latencies are each sender's own and need no common clock. What counts over all of them (rates, requests in flight) is as exact as
//! the machines' clocks agree, which is what NTP makes of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::super::{CommandError, complain};
use super::summary::Loaded;
use crate::load::account::AccountSummary;
use crate::load::monotonic::now_ns;
use crate::load::plan::{Arrival, Plan};
use crate::load::run::run;
use crate::load::trace::Trace;
use crate::slurm::script::Job;
use crate::slurm::{Array, Partition, Share, Watch};

/// How often the folder and the queue are looked at.
const POLL: Duration = Duration::from_millis(500);
/// How long after the last allocation is ready the first request goes out: the others have to see it by then.
const LEAD_NS: u64 = 3_000_000_000;
/// How long an allocation waits for the others.
const PATIENCE: Duration = Duration::from_hours(1);

/// What one allocation sent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shard {
    /// The run that it is part of.
    run: String,
    /// Which of how many.
    share: String,
    /// Its start by the machine's clock, in nanoseconds since 1970: what the times of its traces count from.
    start_unix_ns: u64,
    sent: usize,
    is_interrupted: bool,
    client: AccountSummary,
    client_limits: Vec<String>,
    traces: Vec<Trace>,
}

/// Shards that do not make a whole.
#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    /// An allocation left nothing.
    #[error("{path} is not there: that allocation did not come to its end; its log is {log}")]
    Missing {
        /// What it should have written.
        path: PathBuf,
        /// Its log.
        log: PathBuf,
    },
    /// Written by another run.
    #[error("{path} is of run {found}, expected {expected}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its run.
        found: String,
        /// Ours.
        expected: String,
    },
    /// The others did not come.
    #[error("{found} of {expected} allocations were ready after an hour")]
    Alone {
        /// So many.
        found: u32,
        /// Of so many.
        expected: u32,
    },
    /// A load too small to be shared.
    #[error("{in_flight} in flight cannot be shared by {of} allocations")]
    Small {
        /// Requests in flight.
        in_flight: usize,
        /// Allocations.
        of: u32,
    },
}

/// The part of a plan that an allocation sends: every `of`-th request, and its part of what is in flight.
pub(super) fn part(plan: &Plan, share: Share) -> Result<Plan, ShardError> {
    let (index, of) = (share.index as usize, share.of as usize);
    let is_ours = |place: &usize| place % of == index;
    let split = |whole: usize| match whole / of + usize::from(index < whole % of) {
        0 => Err(ShardError::Small { in_flight: whole, of: share.of }),
        part => Ok(part),
    };
    let arrival = match &plan.arrival {
        Arrival::Closed { concurrency } => Arrival::Closed { concurrency: split(*concurrency)? },
        Arrival::Open { intended_ns, cap } => {
            let own = (0..intended_ns.len()).filter(is_ours).map(|place| intended_ns[place]);
            Arrival::Open { intended_ns: own.collect(), cap: cap.map(split).transpose()? }
        }
    };
    let places = (0..plan.requests.len()).filter(is_ours);
    let mut own = Plan { arrival, ..plan.clone() };
    own.requests = places.map(|place| plan.requests[place].clone()).collect();
    if let Some(conversations) = &mut own.conversations {
        let turns = std::mem::take(&mut conversations.turns);
        let ours = turns.into_iter().enumerate().filter(|(place, _)| is_ours(place));
        conversations.turns = ours.map(|(_, turns)| turns).collect();
    }
    Ok(own)
}

/// The place in the whole plan of a request of a part. Of conversations a part has `own` and the whole `all`, and later turns are
/// numbered after all first ones.
fn place(request: u32, share: Share, own: u32, all: u32) -> u32 {
    let (turn, within) = (request / own.max(1), request % own.max(1));
    turn * all + within * share.of + share.index
}

/// Sends a share, once all allocations are ready, and leaves what came in the folder.
pub(super) fn send(
    plan: &Plan,
    share: Share,
    folder: &Path,
    stop: &AtomicBool,
) -> Result<(), CommandError> {
    let own = part(plan, share)?;
    let start = rendezvous(share, folder, stop)?;
    while unix_ns() < start && !stop.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(1));
    }
    let mut outcome = run(&own, stop)?;
    let start_unix_ns = unix_ns() - (now_ns() - outcome.start_ns);
    for trace in &mut outcome.traces {
        let (own, all) = (own.requests.len() as u32, plan.requests.len() as u32);
        trace.request = place(trace.request, share, own, all);
    }
    let Loaded { traces, sent, is_interrupted, client, client_limits } = Loaded::of(outcome);
    let shard = Shard {
        run: name(folder),
        share: share.to_string(),
        start_unix_ns,
        sent,
        is_interrupted,
        client,
        client_limits,
        traces,
    };
    write(&folder.join(format!("{}.json", share.index)), &shard)
}

/// Waits until every allocation has said that it is ready, and gives the moment at which all start.
fn rendezvous(share: Share, folder: &Path, stop: &AtomicBool) -> Result<u64, CommandError> {
    let ready = |index: u32| folder.join(format!("{index}.ready"));
    write(&ready(share.index), &unix_ns())?;
    let mut waited = Duration::ZERO;
    loop {
        let said: Vec<u64> = (0..share.of)
            .filter_map(|index| serde_json::from_slice(&fs::read(ready(index)).ok()?).ok())
            .collect();
        match said.iter().max() {
            Some(last) if said.len() == share.of as usize => return Ok(last + LEAD_NS),
            _ if waited > PATIENCE || stop.load(Ordering::SeqCst) => {
                let (found, expected) = (said.len() as u32, share.of);
                return Err(ShardError::Alone { found, expected }.into());
            }
            _ => {}
        }
        thread::sleep(POLL);
        waited += POLL;
    }
}

/// Submits the shares, waits for them, and puts together what they left in a folder of their own below `folder`.
pub(super) fn conduct(
    plan: &Plan,
    partition: &Partition,
    allocations: u32,
    folder: &Path,
    stop: &AtomicBool,
) -> Result<Loaded, CommandError> {
    // Refused here rather than in the queue.
    for index in 0..allocations {
        part(plan, Share { index, of: allocations })?;
    }
    let folder = std::path::absolute(folder).map_err(|source| file(folder, source))?;
    let folder = folder.join(format!("{:x}-{:x}", unix_ns(), std::process::id()));
    fs::create_dir_all(&folder).map_err(|source| file(&folder, source))?;
    let program = std::env::current_exe().map_err(|source| file(Path::new("grid"), source))?;
    let job = Job {
        partition: &partition.0,
        name: "grid-load",
        allocations,
        logs: &folder,
        program: &program,
        arguments: &arguments(std::env::args().skip(1), &folder),
    };
    let array = Array::submit(&job)?;
    complain(&format!("job {} of {allocations} allocations: {}", array.id, folder.display()));
    let mut watch = Watch::new(allocations);
    while !watch.has_ended() {
        if stop.load(Ordering::SeqCst) {
            array.cancel()?;
            break;
        }
        match array.states() {
            Ok(states) => {
                for (index, element) in watch.answered(states) {
                    complain(&format!("allocation {index}: {element}"));
                }
            }
            Err(error) if watch.unanswered() => return Err(error.into()),
            Err(_) => {}
        }
        thread::sleep(POLL);
    }
    let shards = (0..allocations).map(|index| read(&folder, index)).collect::<Result<_, _>>()?;
    Ok(merge(shards))
}

/// The arguments of an allocation: ours, without what is for the one who submits.
fn arguments(ours: impl Iterator<Item = String>, folder: &Path) -> Vec<String> {
    let mut theirs = Vec::new();
    let mut ours = ours;
    while let Some(word) = ours.next() {
        let name = word.split('=').next().unwrap_or_default();
        match name {
            "--on" | "--allocations" | "--shards" | "--out" => {
                if !word.contains('=') {
                    ours.next();
                }
            }
            "--json" | "--aliases" => {}
            _ => theirs.push(word),
        }
    }
    theirs.extend(["--shards".to_owned(), folder.display().to_string()]);
    theirs
}

/// All of them as one load, on the clock of the first that started.
fn merge(shards: Vec<Shard>) -> Loaded {
    let start = shards.iter().map(|shard| shard.start_unix_ns).min().unwrap_or(0);
    let mut whole = Loaded::none();
    for shard in shards {
        let later = shard.start_unix_ns - start;
        whole.traces.extend(shard.traces.into_iter().map(|trace| trace.shifted(later)));
        whole.is_interrupted |= shard.is_interrupted;
        whole.client = match whole.sent {
            0 => shard.client,
            _ => whole.client.beside(&shard.client),
        };
        let of = |limit| format!("allocation {}: {limit}", shard.share);
        whole.client_limits.extend(shard.client_limits.into_iter().map(of));
        whole.sent += shard.sent;
    }
    whole.traces.sort_unstable_by_key(|trace| trace.request);
    whole
}

fn read(folder: &Path, index: u32) -> Result<Shard, CommandError> {
    let path = folder.join(format!("{index}.json"));
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let log = folder.join(format!("{index}.log"));
            return Err(ShardError::Missing { path, log }.into());
        }
        Err(source) => return Err(file(&path, source)),
    };
    let shard: Shard = serde_json::from_slice(&bytes).map_err(|source| CommandError::Line {
        path: path.clone(),
        line: source.line(),
        source,
    })?;
    let expected = name(folder);
    if shard.run != expected {
        return Err(ShardError::Foreign { path, found: shard.run, expected }.into());
    }
    Ok(shard)
}

/// The run's id: the name of its folder.
fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whole or not at all.
fn write(path: &Path, value: &impl Serialize) -> Result<(), CommandError> {
    let draft = path.with_extension("draft");
    let bytes = serde_json::to_vec(value).map_err(CommandError::Json)?;
    fs::write(&draft, bytes)
        .and_then(|()| fs::rename(&draft, path))
        .map_err(|source| file(path, source))
}

fn file(path: &Path, source: std::io::Error) -> CommandError {
    CommandError::File { path: path.to_owned(), source }
}

fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::request::{Dialect, Prompt, Request, Target};

    fn plan(requests: u32, arrival: Arrival) -> Plan {
        let target = Target::parse("http://127.0.0.1:1", Dialect::Completions).unwrap();
        let request = |index| Request::new(&target, &Prompt::Ids(vec![index]), 1);
        Plan::new(target.address, (0..requests).map(request).collect(), arrival)
    }

    fn bodies(plan: &Plan) -> Vec<&[u8]> {
        plan.requests.iter().map(|request| &request.bytes[..]).collect()
    }

    /// Seven requests of two allocations: 0 2 4 6 and 1 3 5, five in flight as 3 and 2.
    #[test]
    fn parts_make_up_the_whole() {
        let whole = plan(7, Arrival::Closed { concurrency: 5 });
        let parts = [0, 1].map(|index| part(&whole, Share { index, of: 2 }).unwrap());
        let concurrency = |plan: &Plan| match plan.arrival {
            Arrival::Closed { concurrency } => concurrency,
            Arrival::Open { .. } => panic!("a closed loop was planned"),
        };
        assert_eq!(parts.each_ref().map(concurrency), [3, 2]);
        let all = bodies(&whole);
        assert_eq!(bodies(&parts[0]), [all[0], all[2], all[4], all[6]]);
        assert_eq!(bodies(&parts[1]), [all[1], all[3], all[5]]);
        let open = Arrival::Open { intended_ns: vec![10, 20, 30, 40, 50, 60, 70], cap: Some(1) };
        let open = plan(7, open);
        assert!(matches!(part(&open, Share { index: 1, of: 2 }), Err(ShardError::Small { .. })));
        let first = part(&open, Share { index: 0, of: 1 }).unwrap();
        assert_eq!(first.arrival, open.arrival);
    }

    /// Three of eight conversations, 2 5 and their second turns, are 2 5 10 13 of the whole.
    #[test]
    fn a_request_keeps_its_place() {
        let share = Share { index: 2, of: 3 };
        let places = [0, 1, 2, 3].map(|request| place(request, share, 2, 8));
        assert_eq!(places, [2, 5, 10, 13]);
    }

    #[test]
    fn an_allocation_is_not_told_to_submit() {
        let ours = "load http://a:1 --on slurm:x --rate 5 --allocations=2 --shards d --json";
        let theirs = arguments(ours.split(' ').map(str::to_owned), Path::new("/d/run"));
        assert_eq!(theirs.join(" "), "load http://a:1 --rate 5 --shards /d/run");
    }

    /// The second started 5 ns later, by its clock.
    #[test]
    fn traces_are_put_on_one_clock() {
        let shard = |index: u32, start_unix_ns: u64| {
            let trace = crate::metric::fixture::bundled();
            Shard {
                run: "r".to_owned(),
                share: format!("{index}/2"),
                start_unix_ns,
                sent: 1,
                is_interrupted: index == 1,
                client: AccountSummary { peak_in_flight: 2, ..AccountSummary::default() },
                client_limits: vec!["late".to_owned()],
                traces: vec![Trace { request: 1 - index, ..trace }],
            }
        };
        let whole = merge(vec![shard(0, 100), shard(1, 105)]);
        assert_eq!((whole.sent, whole.is_interrupted, whole.client.peak_in_flight), (2, true, 4));
        assert_eq!(whole.client_limits, ["allocation 0/2: late", "allocation 1/2: late"]);
        let [second, first] = &whole.traces[..] else { panic!("{:?}", whole.traces) };
        assert_eq!((second.request, first.request), (0, 1));
        assert_eq!(second.sent_ns - first.sent_ns, 5);
        assert_eq!(second.reads[0].at_ns - first.reads[0].at_ns, 5);
    }
}
