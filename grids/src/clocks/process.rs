//! Who else keeps the machine busy: processor time of every process over a window.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

/// A process that is not ours, and how much of one core it used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Foreign {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Share of one core over the window, in percent.
    pub percent: f64,
}

/// Processor time of all processes at one moment.
pub struct Census {
    at: Instant,
    processes: BTreeMap<u32, Process>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    parent: Option<u32>,
    started_s: u64,
    name: String,
    used_ms: u64,
}

impl Census {
    /// Takes it; `None` where processes cannot be listed.
    pub fn take() -> Option<Self> {
        let mut system = System::new().ok()?;
        let kind = ProcessRefreshKind::nothing().with_cpu().without_tasks();
        system.refresh_processes_specifics(ProcessesToUpdate::All, true, kind);
        let processes: BTreeMap<u32, Process> = system
            .processes()
            .iter()
            .map(|(pid, process)| {
                let found = Process {
                    parent: process.parent().map(sysinfo::Pid::as_u32),
                    started_s: process.start_time(),
                    name: process.name().to_string_lossy().into_owned(),
                    used_ms: process.accumulated_cpu_time(),
                };
                (pid.as_u32(), found)
            })
            .collect();
        (!processes.is_empty()).then(|| Self { at: Instant::now(), processes })
    }

    /// Processes outside the trees of `ours` that used a processor since `before`, busiest first. A process that came and went
    /// between the two is not seen.
    pub fn foreign_since(&self, before: &Self, ours: &[u32]) -> Vec<Foreign> {
        let elapsed_ms = self.at.duration_since(before.at).as_secs_f64() * 1e3;
        shares(&before.processes, &self.processes, ours, elapsed_ms)
    }
}

fn shares(
    before: &BTreeMap<u32, Process>,
    after: &BTreeMap<u32, Process>,
    ours: &[u32],
    elapsed_ms: f64,
) -> Vec<Foreign> {
    let ours = trees(after, ours);
    let used = |pid: &u32, process: &Process| {
        // The same id may name another process meanwhile.
        let earlier = before.get(pid).filter(|earlier| earlier.started_s == process.started_s);
        process.used_ms.saturating_sub(earlier.map_or(0, |earlier| earlier.used_ms))
    };
    let mut foreign: Vec<Foreign> = after
        .iter()
        .filter(|(pid, _)| !ours.contains(pid))
        .map(|(pid, process)| Foreign {
            pid: *pid,
            name: process.name.clone(),
            percent: used(pid, process) as f64 / elapsed_ms * 100.0,
        })
        .filter(|foreign| foreign.percent > 0.0)
        .collect();
    foreign.sort_by(|a, b| b.percent.total_cmp(&a.percent).then(a.pid.cmp(&b.pid)));
    foreign
}

/// The processes of `roots` and all that descend from them.
fn trees(processes: &BTreeMap<u32, Process>, roots: &[u32]) -> BTreeSet<u32> {
    let mut members: BTreeSet<u32> = roots.iter().copied().collect();
    loop {
        let children: Vec<u32> = processes
            .iter()
            .filter(|(pid, process)| {
                !members.contains(pid)
                    && process.parent.is_some_and(|parent| members.contains(&parent))
            })
            .map(|(pid, _)| *pid)
            .collect();
        if children.is_empty() {
            return members;
        }
        members.extend(children);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(parent: u32, started_s: u64, used_ms: u64) -> Process {
        Process { parent: Some(parent), started_s, name: "x".to_owned(), used_ms }
    }

    /// Ours is 10 with its child 11 and grandchild 12. 20 used 300 of 1,000 ms; 21 is new and used 50; 22 has the id of an older one.
    #[test]
    fn shares_by_hand() {
        let before = BTreeMap::from([
            (10, process(1, 5, 0)),
            (20, process(1, 5, 100)),
            (22, process(1, 5, 9_000)),
            (23, process(1, 5, 7)),
        ]);
        let after = BTreeMap::from([
            (10, process(1, 5, 900)),
            (11, process(10, 6, 900)),
            (12, process(11, 6, 900)),
            (20, process(1, 5, 400)),
            (21, process(1, 8, 50)),
            (22, process(1, 9, 20)),
            (23, process(1, 5, 7)),
        ]);
        let found = shares(&before, &after, &[10], 1_000.0);
        let found: Vec<(u32, f64)> = found.iter().map(|one| (one.pid, one.percent)).collect();
        assert_eq!(found, [(20, 30.0), (21, 5.0), (22, 2.0)]);
    }

    #[test]
    fn takes_this_machine() {
        let (before, after) = (Census::take().unwrap(), Census::take().unwrap());
        assert!(after.processes.contains_key(&std::process::id()));
        let foreign = after.foreign_since(&before, &[1, std::process::id()]);
        assert!(foreign.iter().all(|one| one.pid != std::process::id()));
    }
}
