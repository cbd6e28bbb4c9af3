//! A thread on one core, woken when it asked to be, and before the server it measures.

use std::ffi::c_int;
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

/// Lets the calling thread run before everything else on its core: an answer that waits for its reader would be timed late. A niceness
/// is not enough, since a server that computes keeps its slice of some milliseconds all the same. It takes little time (its account says
/// how much), and the same of every arm.
///
/// Whether it is allowed. Where it is not, as much is asked for as may be.
pub fn come_first() -> bool {
    let lowest = Priority { priority: 1 };
    // SAFETY: the only pointer is to a value that outlives the call, laid out as `struct sched_param` of sched_setscheduler(2), which
    // is one `int`; 0 is the calling thread.
    #[expect(unsafe_code, reason = "the C library's call, which no dependency of ours wraps")]
    let status =
        unsafe { sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &raw const lowest) };
    if status != 0 {
        // The account of the run shows how long bytes waited.
        let _ = setpriority_process(None, READER_NICE);
    }
    status == 0
}

/// The nice value of threads that read answers, where they may not come first.
const READER_NICE: i32 = -10;
/// From the kernel's `include/uapi/linux/sched.h`.
const SCHED_FIFO: c_int = 1;
/// As above: what such a thread starts is scheduled as usual.
const SCHED_RESET_ON_FORK: c_int = 0x4000_0000;

/// `struct sched_param`.
#[repr(C)]
struct Priority {
    priority: c_int,
}

// SAFETY: the signature is that of sched_setscheduler(2).
#[expect(unsafe_code, reason = "a function of the C library")]
unsafe extern "C" {
    fn sched_setscheduler(pid: c_int, policy: c_int, param: *const Priority) -> c_int;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's own word for it.
    #[test]
    fn a_reader_comes_first() {
        let thread = std::thread::spawn(|| {
            (come_first(), std::fs::read_to_string("/proc/thread-self/stat").unwrap())
        });
        let (comes_first, stat) = thread.join().unwrap();
        // Fields of proc(5) after the name in brackets: 19 is the niceness, 41 the policy.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let (nice, policy): (i32, i32) =
            (fields[19 - 3].parse().unwrap(), fields[41 - 3].parse().unwrap());
        assert_eq!(policy & 0xff == SCHED_FIFO, comes_first, "policy {policy}");
        assert!(nice <= 0, "nice {nice}");
    }
}
