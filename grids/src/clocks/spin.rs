//! The stand-in for a core clock.
//!
//! Many virtual machines show neither a clock frequency nor cycle counters. A chain of integer operations, each of which needs the
//! result of the one before, takes a fixed number of cycles: so its time against the monotonic clock moves as the core clock moves,
//! and as much as other work takes the core away. It says whether two legs ran at the same speed, not at which.

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;

use crate::clocks::bound::CLOCK_SPREAD_PERCENT;
use crate::statistics::{Summary, summary};

/// Fewer samples than this do not describe a window.
pub const SAMPLES: usize = 60;
/// Steps of the chain in one sample: a few milliseconds, long against the clock's own cost.
pub const STEPS: u64 = 2_000_000;
/// A window of spins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spin {
    /// Steps in one sample.
    pub steps: u64,
    /// Nanoseconds of one step over the samples.
    pub step_ns: Summary,
}

impl Spin {
    /// Whether the window is steady enough for a comparison.
    pub fn is_steady(&self) -> bool {
        self.step_ns.spread_percent <= CLOCK_SPREAD_PERCENT
    }
}

/// Spins for `samples` samples. `None` when the clock did not move.
pub fn measure(samples: usize, steps: u64) -> Option<Spin> {
    Some(Spin { steps, step_ns: summary(&sample(samples, steps))? })
}

/// Nanoseconds of one step in each of `samples` samples, after a warm-up of a tenth as many.
pub fn sample(samples: usize, steps: u64) -> Vec<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15;
    for _ in 0..samples / 10 {
        state = chain(state, steps);
    }
    (0..samples)
        .map(|_| {
            let start = Instant::now();
            state = black_box(chain(black_box(state), steps));
            start.elapsed().as_nanos() as f64 / steps as f64
        })
        .collect()
}

/// `steps` rounds of Marsaglia's xorshift64 (13, 7, 17): six dependent operations each, never zero for a start that is not.
fn chain(mut x: u64, steps: u64) -> u64 {
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One round from 1 by hand: 1 ^ 1<<13 = 0x2001; ^ 0x2001>>7 = 0x2041; ^ 0x2041<<17 = 0x40822041.
    #[test]
    fn one_round_by_hand() {
        assert_eq!(chain(1, 1), 0x4082_2041);
        assert_eq!(chain(chain(1, 3), 4), chain(1, 7));
    }

    #[test]
    fn a_window_is_judged_by_its_spread() {
        let with = |spread_percent| Spin {
            steps: 1,
            step_ns: Summary { n: 2, min: 1.0, median: 1.0, mean: 1.0, max: 1.0, spread_percent },
        };
        assert!(with(5.0).is_steady());
        assert!(!with(5.1).is_steady());
        assert!(!with(f64::NAN).is_steady());
    }

    #[test]
    fn measures_something() {
        let spin = measure(5, 10_000).unwrap();
        assert_eq!(spin.step_ns.n, 5);
        assert_eq!(measure(0, 10_000), None);
    }
}
