//! A thread on one core, woken when it asked to be.

use std::num::NonZeroU64;

use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};

/// Binds the calling thread to a core.
pub fn pin(core: usize) -> std::io::Result<()> {
    if core >= CpuSet::MAX_CPU {
        return Err(std::io::Error::other(format!("core {core} is not below {}", CpuSet::MAX_CPU)));
    }
    let mut set = CpuSet::new();
    set.set(core);
    Ok(sched_setaffinity(None, &set)?)
}

/// Lets the calling thread's sleeps end on time: by default the system may add 50 us to each.
pub fn sharpen_timers() {
    // Where it is not allowed, sleeps stay as coarse as they are, which the account of the run shows.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}
