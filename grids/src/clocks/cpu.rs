//! What the kernel says of its processors: `/proc/stat`, `/proc/pressure`, `/proc/loadavg`. What it does not say is `None`.

use std::fs;

use serde::{Deserialize, Serialize};

/// Counters of the kernel at one moment, since boot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Changes with every boot.
    pub boot_id: Option<String>,
    /// Time of all processors, in ticks.
    pub total_ticks: Option<u64>,
    /// Of it, what the host gave to others.
    pub stolen_ticks: Option<u64>,
    /// Of it, what nothing was done in.
    pub idle_ticks: Option<u64>,
    /// Context switches.
    pub switches: Option<u64>,
    /// Microseconds in which some task waited for a processor.
    pub cpu_pressure_us: Option<u64>,
    /// Microseconds in which some task waited for memory.
    pub memory_pressure_us: Option<u64>,
    /// Microseconds in which some task waited for storage.
    pub io_pressure_us: Option<u64>,
    /// Load average over the last minute.
    pub load: Option<f64>,
}

impl Counters {
    /// Reads them.
    pub fn read() -> Self {
        let text = |name: &str| fs::read_to_string(format!("/proc/{name}")).unwrap_or_default();
        let stat = text("stat");
        let ticks = ticks(&stat);
        let at = |place: usize| ticks.as_ref().and_then(|ticks| ticks.get(place).copied());
        Self {
            boot_id: Some(text("sys/kernel/random/boot_id").trim().to_owned())
                .filter(|id| !id.is_empty()),
            // Guests' time (the last two columns) is in user time already.
            total_ticks: ticks.as_ref().map(|ticks| ticks.iter().take(8).sum()),
            stolen_ticks: at(7),
            idle_ticks: at(3).zip(at(4)).map(|(idle, waiting)| idle + waiting),
            switches: field(&stat, "ctxt"),
            cpu_pressure_us: pressure(&text("pressure/cpu")),
            memory_pressure_us: pressure(&text("pressure/memory")),
            io_pressure_us: pressure(&text("pressure/io")),
            load: text("loadavg").split_whitespace().next().and_then(|word| word.parse().ok()),
        }
    }
}

/// The columns of the line `cpu`: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice (proc_stat(5)).
fn ticks(stat: &str) -> Option<Vec<u64>> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    line.split_whitespace().map(|word| word.parse().ok()).collect()
}

fn field(stat: &str, name: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// `total` of the line `some` (kernel documentation, accounting/psi).
fn pressure(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split_whitespace().find_map(|word| word.strip_prefix("total=")?.parse().ok())
}

/// Share of all processor time between two moments that was stolen, in percent.
pub fn stolen_percent(before: &Counters, after: &Counters) -> Option<f64> {
    let since = |read: fn(&Counters) -> Option<u64>| read(after)?.checked_sub(read(before)?);
    let total = since(|counters| counters.total_ticks).filter(|&total| total > 0)?;
    Some(since(|counters| counters.stolen_ticks)? as f64 / total as f64 * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str =
        "cpu  100 2 30 400 5 0 6 7 9 0\ncpu0 1 2 3 4 5 6 7 8 0 0\nintr 5\nctxt 1234\nbtime 9\n";

    #[test]
    fn reads_the_text_of_proc() {
        assert_eq!(ticks(STAT).unwrap()[7], 7);
        assert_eq!(field(STAT, "ctxt"), Some(1_234));
        assert_eq!(ticks("cpu  1 x"), None);
        assert_eq!(
            pressure("some avg10=1.50 avg60=0.20 avg300=0.00 total=91\nfull avg10=0 total=3\n"),
            Some(91)
        );
        assert_eq!(pressure(""), None);
    }

    #[test]
    fn stolen_by_hand() {
        let at = |total, stolen| Counters {
            total_ticks: Some(total),
            stolen_ticks: stolen,
            ..Counters::default()
        };
        assert_eq!(stolen_percent(&at(1_000, Some(5)), &at(1_400, Some(7))), Some(0.5));
        assert_eq!(
            stolen_percent(&at(1_000, Some(5)), &at(1_000, Some(5))),
            None,
            "no time passed"
        );
        assert_eq!(stolen_percent(&at(1_000, Some(5)), &at(1_400, Some(4))), None, "went back");
        assert_eq!(stolen_percent(&at(1_000, None), &at(1_400, Some(4))), None);
    }

    #[test]
    fn reads_this_machine() {
        let (before, after) = (Counters::read(), Counters::read());
        assert!(before.total_ticks <= after.total_ticks && before.switches <= after.switches);
        assert_eq!(before.boot_id, after.boot_id);
    }
}
