//! The stand-in for a core clock.
//!
//! Many virtual machines show neither a clock frequency nor cycle counters. A chain of integer operations, each of which needs the
//! result of the one before, takes a fixed number of cycles: so its time against the monotonic clock moves as the core clock moves,
//! and as much as other work takes the core away. It says whether two legs ran at the same speed, not at which.
//!
//! A sample lasts a tenth of a second because the rule that judges it, V-CLOCK-SPREAD, is about samples at 10 Hz: what a GPU's sampler
//! reads is a clock that the driver reports ten times a second, and a bound on the spread of such readings says nothing of shorter
//! ones. Over a few milliseconds a virtual machine that does nothing else spreads by 7 to 26 %, by every timer and neighbour of its
//! host; what a leg of seconds feels of that is its mean.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::clocks::bound::{BUSY_SAMPLES, CLOCK_SPREAD_PERCENT, GPU_HERTZ};
use crate::statistics::{Summary, summary};

/// How long a sample lasts: the period of the GPU's sampler.
pub const SAMPLE: Duration = Duration::from_millis(1_000 / GPU_HERTZ as u64);
/// Samples before a leg, and as many after it: together the busy samples that V-CLOCK-COVER asks for.
pub const SAMPLES: usize = BUSY_SAMPLES / 2;
/// Steps between two looks at the clock: some milliseconds, long against what a look costs, short against a sample.
const STEPS: u64 = 1_000_000;

/// A window of spins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spin {
    /// How long a sample lasted at least, in milliseconds.
    pub sample_ms: u64,
    /// Nanoseconds of one step over the samples.
    pub step_ns: Summary,
}

impl Spin {
    /// Whether the window is steady enough for a comparison.
    pub fn is_steady(&self) -> bool {
        self.step_ns.spread_percent <= CLOCK_SPREAD_PERCENT
    }
}

/// Spins for `samples` samples that last `each`. `None` when the clock did not move.
pub fn measure(samples: usize, each: Duration) -> Option<Spin> {
    let step_ns = summary(&sample(samples, each))?;
    Some(Spin { sample_ms: each.as_millis() as u64, step_ns })
}

/// Nanoseconds of one step in each of `samples` samples that last `each` and a little more, after a warm-up of a tenth as many.
pub fn sample(samples: usize, each: Duration) -> Vec<f64> {
    settled(samples, each, Duration::ZERO)
}

/// The same, of the first `samples` samples in a row that are steady together; of the last ones where none are within `patience`.
pub fn settled(samples: usize, each: Duration, patience: Duration) -> Vec<f64> {
    let mut state = 0x9E37_79B9_7F4A_7C15;
    for _ in 0..samples / 10 {
        one(&mut state, each);
    }
    let began = Instant::now();
    let mut last: VecDeque<f64> = (0..samples).map(|_| one(&mut state, each)).collect();
    while began.elapsed() < patience && !is_steady(last.make_contiguous()) {
        last.pop_front();
        last.push_back(one(&mut state, each));
    }
    last.into()
}

/// Whether samples, in nanoseconds of a step, spread by no more than a window may.
pub fn is_steady(step_ns: &[f64]) -> bool {
    summary(step_ns).is_some_and(|found| found.spread_percent <= CLOCK_SPREAD_PERCENT)
}

/// Nanoseconds of a step over one sample.
fn one(state: &mut u64, each: Duration) -> f64 {
    let (start, mut steps) = (Instant::now(), 0);
    loop {
        *state = black_box(chain(black_box(*state), STEPS));
        steps += STEPS;
        let elapsed = start.elapsed();
        if elapsed >= each {
            return elapsed.as_nanos() as f64 / steps as f64;
        }
    }
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
            sample_ms: 100,
            step_ns: Summary { n: 2, min: 1.0, median: 1.0, mean: 1.0, max: 1.0, spread_percent },
        };
        assert!(with(5.0).is_steady());
        assert!(!with(5.1).is_steady());
        assert!(!with(f64::NAN).is_steady());
    }

    /// Fifteen before and fifteen after are the thirty of V-CLOCK-COVER, each a reading at the GPU sampler's rate.
    #[test]
    fn a_window_covers_what_the_rules_ask_for() {
        assert_eq!((2 * SAMPLES, SAMPLE.as_millis()), (30, 100));
        let start = Instant::now();
        assert_eq!(sample(3, SAMPLE).len(), 3);
        assert!(start.elapsed() >= 3 * SAMPLE, "a sample lasts by time, however fast the core is");
    }

    #[test]
    fn measures_something() {
        let spin = measure(5, Duration::from_millis(1)).unwrap();
        assert_eq!((spin.step_ns.n, spin.sample_ms), (5, 1));
        assert_eq!(measure(0, SAMPLE), None);
    }
}
