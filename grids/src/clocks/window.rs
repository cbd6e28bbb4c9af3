//! The machine around one leg. The arm opens the window just before its own work and closes it just after.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::clocks::cpu::Counters;
use crate::clocks::gpu::{Recording, Sampler};
use crate::clocks::memory::available_kib;
use crate::clocks::process::{Census, Foreign};
use crate::clocks::{rest, spin};

/// How long ago the spin between two legs may have ended: what a plan does between them takes less.
const FRESH: Duration = Duration::from_millis(500);

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Nanoseconds of a step of the spin before and after, one list each: together a window of the core clock. During the leg the
    /// processor is the leg's.
    pub spins: Vec<Vec<f64>>,
    /// The kernel's counters before.
    pub before: Counters,
    /// And after.
    pub after: Counters,
    /// Who else used a processor; `None` where processes could not be listed.
    pub foreign: Option<Vec<Foreign>>,
    /// Memory available before, in KiB.
    pub available_before_kib: Option<u64>,
    /// And after.
    pub available_after_kib: Option<u64>,
    /// The GPUs; empty where none is seen.
    pub gpus: Vec<Recording>,
}

/// The spin between two legs: after the one and, where the other follows at once, before it.
#[derive(Clone, Debug)]
pub struct Between {
    spin: Vec<f64>,
    ended: Instant,
}

impl Between {
    /// The spin that closed a window just now.
    pub fn closing(window: &Window) -> Option<Self> {
        Some(Self { spin: window.spins.last()?.clone(), ended: Instant::now() })
    }

    /// Its samples, where it was a moment ago and the core was steady in it.
    fn fresh(&self) -> Option<Vec<f64>> {
        let is_fresh = self.ended.elapsed() < FRESH && spin::is_steady(&self.spin);
        is_fresh.then(|| self.spin.clone())
    }
}

/// A window that is open.
pub struct Open {
    spin: Vec<f64>,
    before: Counters,
    census: Option<Census>,
    available_kib: Option<u64>,
    sampler: Sampler,
}

impl Open {
    /// Opens one: spins for a second and a half, and on for `patience` until the core is steady, unless the spin that closed the last
    /// window was just that; then reads the counters and starts the GPU's sampler.
    #[expect(clippy::self_named_constructors, reason = "a window is opened, and then it is open")]
    pub fn open(patience: Duration, between: Option<&Between>) -> Self {
        let settled = || spin::settled(spin::SAMPLES, spin::SAMPLE, patience);
        Self {
            spin: between.and_then(Between::fresh).unwrap_or_else(settled),
            available_kib: available_kib(),
            census: Census::take(),
            sampler: Sampler::start(),
            before: Counters::read(),
        }
    }

    /// Closes it. `ours` are the processes whose trees are the measurement's own.
    pub fn close(self, ours: &[u32]) -> Window {
        let after = Counters::read();
        let gpus = self.sampler.stop();
        let census = self.census.zip(Census::take());
        let foreign = census.map(|(before, after)| after.foreign_since(&before, ours));
        let available_after_kib = available_kib();
        rest::wait();
        Window {
            spins: vec![self.spin, spin::sample(spin::SAMPLES, spin::SAMPLE)],
            before: self.before,
            after,
            foreign,
            available_before_kib: self.available_kib,
            available_after_kib,
            gpus,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spin_between_two_legs_is_of_both() {
        let of = |spin: &[f64], ended| Between { spin: spin.to_vec(), ended };
        let now = Instant::now();
        assert_eq!(of(&[1.0, 1.04], now).fresh(), Some(vec![1.0, 1.04]));
        assert_eq!(of(&[1.0, 1.06], now).fresh(), None, "unsteady");
        let long_ago = now.checked_sub(2 * FRESH).unwrap();
        assert_eq!(of(&[1.0, 1.0], long_ago).fresh(), None);
        let opened = Open::open(Duration::ZERO, Some(&of(&[1.0, 1.04], Instant::now())));
        assert_eq!(opened.spin, [1.0, 1.04]);
    }

    #[test]
    fn a_window_of_this_machine() {
        let window = Open::open(Duration::ZERO, None).close(&[std::process::id()]);
        assert_eq!(window.spins.len(), 2);
        assert_eq!(window.before.boot_id, window.after.boot_id);
        let text = serde_json::to_string(&window).unwrap();
        assert_eq!(serde_json::from_str::<Window>(&text).unwrap().spins, window.spins);
    }
}
