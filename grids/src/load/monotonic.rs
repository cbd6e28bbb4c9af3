//! The clock of every time stamp: `CLOCK_MONOTONIC`, in nanoseconds; and the CPU time of a thread.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of a second.
pub const SECOND_NS: u64 = 1_000_000_000;
/// Nanoseconds of a millisecond.
pub const MILLISECOND_NS: u64 = 1_000_000;

/// Now, in nanoseconds of the machine's monotonic clock: the same for every process of the machine.
pub fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time that the calling thread has used, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// A span as the system takes it.
pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / SECOND_NS) as i64, tv_nsec: (ns % SECOND_NS) as i64 }
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64
}
