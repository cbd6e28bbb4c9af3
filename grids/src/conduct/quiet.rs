//! Before the first leg: the machine has to come to rest. What was running before, a build for example, is still in the load average
//! for a minute or two, so it is waited for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oracles::Progress;

use crate::clocks::cpu::Counters;
use crate::clocks::judge::host;
use crate::rule::Violation;

/// How long is waited at most. The load average of a machine that was fully busy halves in 42 s.
const LONGEST: Duration = Duration::from_mins(5);
const POLL: Duration = Duration::from_secs(1);

/// Waits until the machine is quiet; what is still broken after `LONGEST`, which every leg of this sitting then bears.
pub fn wait(progress: Progress, stop: &AtomicBool) -> Option<Violation> {
    let began = Instant::now();
    let mut told = false;
    loop {
        let broken = host::quiet(&Counters::read(), true)?;
        if began.elapsed() >= LONGEST || stop.load(Ordering::SeqCst) {
            return Some(broken);
        }
        if !told {
            progress.note(&format!("waiting for a quiet machine: {}", broken.reason));
            told = true;
        }
        thread::sleep(POLL);
    }
}
