//! What is seen of a process from outside: when its answers come, and the resident set of its tree, from `/proc`.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Time between two samples of the resident set: 50 Hz.
const CADENCE: Duration = Duration::from_millis(20);

/// How long the host is looked at before a process is started.
const LOOK: Duration = Duration::from_millis(300);

/// What was seen of a process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// Busy share of the host's processors just before the start, in percent; `None` where it could not be read.
    pub foreign_percent: Option<f64>,
    /// When each line of standard output was read, in milliseconds since the start.
    pub lines_ms: Vec<f64>,
    /// The resident set of its process group, as it was sampled.
    pub resident: Vec<Resident>,
}

/// The resident set of a process group at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resident {
    /// Milliseconds since the start.
    pub at_ms: f64,
    /// `VmRSS` of all its processes.
    pub bytes: u64,
    /// `VmHWM` of all its processes: the most that each has had until now.
    pub high_water_bytes: u64,
}

/// Milliseconds since `started`.
pub(super) fn milliseconds(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1000.0
}

/// Samples the group until the other end of `end` is dropped.
pub(super) fn sample(group: u32, started: Instant, end: &Receiver<()>) -> Vec<Resident> {
    let mut samples = Vec::new();
    loop {
        samples.extend(resident(group, started));
        if end.recv_timeout(CADENCE) != Err(RecvTimeoutError::Timeout) {
            return samples;
        }
    }
}

/// The group's resident set now; `None` where no process of it can be read.
fn resident(group: u32, started: Instant) -> Option<Resident> {
    let members = members(group);
    let readings: Vec<(u64, u64)> = members.iter().filter_map(|id| memory(*id)).collect();
    let sum = |part: fn(&(u64, u64)) -> u64| readings.iter().map(part).sum();
    (!readings.is_empty()).then(|| Resident {
        at_ms: milliseconds(started),
        bytes: sum(|reading| reading.0),
        high_water_bytes: sum(|reading| reading.1),
    })
}

/// The processes of a group.
fn members(group: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // Behind the name, which may hold anything: state, parent, group.
        let field = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(2));
        field.and_then(|field| field.parse().ok()) == Some(group)
    })
    .collect()
}

/// `VmRSS` and `VmHWM` of a process in bytes; `None` once it has none, as after its end.
fn memory(id: u32) -> Option<(u64, u64)> {
    let status = fs::read_to_string(Path::new("/proc").join(id.to_string()).join("status")).ok()?;
    let kilobytes = |key: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim_start_matches(':').trim().strip_suffix(" kB")?.trim().parse().ok()
    };
    Some((kilobytes("VmRSS")? * 1024, kilobytes("VmHWM")? * 1024))
}

/// Busy share of all processors over a short look, in percent.
pub(super) fn busy_percent() -> Option<f64> {
    let before = ticks(&fs::read_to_string("/proc/stat").ok()?)?;
    std::thread::sleep(LOOK);
    let after = ticks(&fs::read_to_string("/proc/stat").ok()?)?;
    let (busy, all) = (after.0.checked_sub(before.0)?, after.1.checked_sub(before.1)?);
    (all > 0).then(|| busy as f64 * 100.0 / all as f64)
}

/// Busy and all ticks of the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let mut words = stat.lines().next()?.split_whitespace();
    if words.next()? != "cpu" {
        return None;
    }
    let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
    let all = ticks.iter().sum::<u64>();
    let idle = ticks.get(3)? + ticks.get(4)?;
    Some((all - idle, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_parted_into_busy_and_idle() {
        let stat = "cpu  10 1 5 100 20 2 3 4 7 8\ncpu0 1 1 1 1 1 1 1 1\n";
        // 10 + 1 + 5 + 2 + 3 + 4 busy, 100 + 20 idle; guests are in user already.
        assert_eq!(ticks(stat), Some((25, 145)));
        assert_eq!(ticks("cpu 1 2\n"), None);
        assert_eq!(ticks("intr 1 2 3 4 5\n"), None);
    }

    #[test]
    fn this_process_has_a_resident_set() {
        let (bytes, high_water) = memory(std::process::id()).unwrap();
        assert!(bytes > 0 && high_water >= bytes);
        assert_eq!(memory(u32::MAX), None);
    }
}
