//! How much memory there is to take.

use std::fs;

/// Bytes that this process can take without anything being swapped out, or killed: what the system tells, and what its control
/// group leaves. None where the system does not tell.
pub fn available_memory() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_meminfo(&text));
    let group = |file: &str| fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok();
    let number = |text: String| text.trim().parse::<u64>().ok();
    let limit = group("memory.max").and_then(number);
    let left = limit.zip(group("memory.current").and_then(number));
    let left = left.map(|(limit, current)| limit.saturating_sub(current));
    match (system, left) {
        (Some(system), Some(left)) => Some(system.min(left)),
        (system, left) => system.or(left),
    }
}

/// The line MemAvailable, in bytes.
fn of_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::of_meminfo;

    #[test]
    fn the_available_line_is_read() {
        let text = "MemTotal:       24683520 kB\nMemFree:  1 kB\nMemAvailable:   24101888 kB\n";
        assert_eq!(of_meminfo(text), Some(24_101_888 * 1024));
        assert_eq!(of_meminfo("MemTotal: 1 kB"), None);
    }
}
