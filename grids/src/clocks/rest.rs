//! Between a load and the spin that closes its window: a server does not stop working when it has answered. Threads of its pool spin on
//! for some tenths of a second, memory is given back, logs are written; a spin among them would measure those instead of the clock.

use std::thread;
use std::time::{Duration, Instant};

use crate::clocks::cpu::Counters;

/// How long the machine has to be idle.
const STRETCH: Duration = Duration::from_millis(100);
/// How long is waited for that at most. What is busy for longer is told by the spin, and by the rules.
const LONGEST: Duration = Duration::from_secs(2);
/// Share of all processors' time that makes a stretch idle. A tick of 10 ms is 5 % of a tenth of a second on two processors: two may be
/// busy, as the reading itself takes some.
const IDLE: f64 = 0.9;

/// Waits until the machine was idle for a tenth of a second.
pub fn wait() {
    let began = Instant::now();
    let mut before = Counters::read();
    while began.elapsed() < LONGEST {
        thread::sleep(STRETCH);
        let after = Counters::read();
        if is_idle(&before, &after) {
            return;
        }
        before = after;
    }
}

fn is_idle(before: &Counters, after: &Counters) -> bool {
    let since = |read: fn(&Counters) -> Option<u64>| read(after)?.checked_sub(read(before)?);
    let total = since(|counters| counters.total_ticks).filter(|&total| total > 0);
    let idle = since(|counters| counters.idle_ticks);
    idle.zip(total).is_some_and(|(idle, total)| idle as f64 >= IDLE * total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tenth of a second of two processors is 20 ticks.
    #[test]
    fn idle_by_hand() {
        let at = |total, idle| Counters {
            total_ticks: Some(total),
            idle_ticks: idle,
            ..Counters::default()
        };
        let start = at(1_000, Some(500));
        assert!(is_idle(&start, &at(1_020, Some(518))));
        assert!(!is_idle(&start, &at(1_020, Some(517))));
        assert!(!is_idle(&start, &at(1_000, Some(500))), "no time passed");
        assert!(!is_idle(&start, &at(1_020, None)), "not told");
        assert!(!is_idle(&start, &at(1_020, Some(499))), "went back");
    }
}
