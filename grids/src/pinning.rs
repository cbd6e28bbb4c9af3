//! A thread on one core, woken when it asked to be, and before the server it measures.

use std::num::NonZeroU64;

use rustix::process::setpriority_process;
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

/// The nice value of threads that read answers.
const READER_NICE: i32 = -10;

/// Lets the calling thread run before the servers that share its cores: an answer that waits for its reader would be timed late.
/// It takes little time (its account says how much), and the same of every arm.
pub fn come_first() {
    // On Linux a niceness is a thread's own. Where lowering it is not allowed, the account of the run shows how long bytes waited.
    let _ = setpriority_process(None, READER_NICE);
}
