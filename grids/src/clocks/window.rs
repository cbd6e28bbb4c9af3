//! The machine around one leg. The arm opens the window just before its own work and closes it just after.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clocks::cpu::Counters;
use crate::clocks::gpu::{Recording, Sampler};
use crate::clocks::memory::available_kib;
use crate::clocks::process::{Census, Foreign};
use crate::clocks::spin;

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

/// A window that is open.
pub struct Open {
    spin: Vec<f64>,
    before: Counters,
    census: Option<Census>,
    available_kib: Option<u64>,
    sampler: Sampler,
}

impl Open {
    /// Opens one: spins for a second and a half, and on for `patience` until the core is steady, then reads the counters and starts the
    /// GPU's sampler.
    #[expect(clippy::self_named_constructors, reason = "a window is opened, and then it is open")]
    pub fn open(patience: Duration) -> Self {
        Self {
            spin: spin::settled(spin::SAMPLES, spin::SAMPLE, patience),
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
    fn a_window_of_this_machine() {
        let window = Open::open(Duration::ZERO).close(&[std::process::id()]);
        assert_eq!(window.spins.len(), 2);
        assert_eq!(window.before.boot_id, window.after.boot_id);
        let text = serde_json::to_string(&window).unwrap();
        assert_eq!(serde_json::from_str::<Window>(&text).unwrap().spins, window.spins);
    }
}
