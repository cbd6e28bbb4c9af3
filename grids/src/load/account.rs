//! The client's account of itself: how busy it was, how late it sent, how long bytes may have lain before they were stamped. From it
//! follows whether the client, not the server, was measured.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::monotonic::MILLISECOND_NS;

/// Lateness that is always allowed: 1 ms at the 99th percentile.
pub const LAG_NS: u64 = MILLISECOND_NS;
/// Lateness that is allowed as a share of the median gap between tokens.
pub const LAG_SHARE: f64 = 0.05;
/// Share of a core above which a thread queues work.
pub const BUSY_SHARE: f64 = 0.70;

/// A distribution of spans, in nanoseconds, to three digits.
#[derive(Clone, Debug)]
pub struct Spans(Histogram<u64>);

impl Default for Spans {
    fn default() -> Self {
        // One minute is more than any span that is of use; the bounds are constants that the crate accepts.
        Self(Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("constant bounds"))
    }
}

impl Spans {
    /// Adds one.
    pub fn add(&mut self, ns: u64) {
        self.0.saturating_record(ns.max(1));
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        // The bounds are the same.
        let _ = self.0.add(&other.0);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The value at a percentile, 0 to 100; `None` when there are none.
    pub fn percentile(&self, percentile: f64) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.0.value_at_percentile(percentile))
    }

    /// The summary that is printed and kept.
    pub fn summary(&self) -> SpanSummary {
        SpanSummary {
            n: self.count(),
            p50_ns: self.percentile(50.0),
            p99_ns: self.percentile(99.0),
            max_ns: self.percentile(100.0),
        }
    }
}

/// A distribution in four numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanSummary {
    /// How many.
    pub n: u64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Largest.
    pub max_ns: Option<u64>,
}

/// What one thread did.
#[derive(Clone, Debug, Default)]
pub struct ThreadAccount {
    /// The core it was bound to.
    pub core: Option<usize>,
    /// CPU time from the start to its last end.
    pub cpu_ns: u64,
    /// Time from the start to its last end.
    pub wall_ns: u64,
    /// Times that it asked for ready connections.
    pub turns: u64,
    /// Reads that delivered bytes.
    pub reads: u64,
    /// Events of all streams.
    pub events: u64,
    /// Connections opened, those before the start included.
    pub connections: u64,
    /// Requests sent again on a new connection, because the server closed the old one as they went out.
    pub resent: u64,
    /// Most requests in flight at once.
    pub peak_in_flight: u64,
    /// Sent, less when it was due: when the plan wanted it and a slot was free.
    pub schedule_lag: Spans,
    /// The longest that bytes can have lain in the socket because of us, for each read: since the thread last asked for ready
    /// connections, or since it woke if it slept.
    pub read_lag: Spans,
}

/// What the client did in a run.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Each thread.
    pub threads: Vec<ThreadAccount>,
}

/// [`Account`] as it is printed and kept.
#[derive(Clone, Debug, Serialize)]
pub struct AccountSummary {
    /// Threads.
    pub threads: usize,
    /// Share of its core that the busiest thread used.
    pub busy_share: Option<f64>,
    /// Reads that delivered bytes.
    pub reads: u64,
    /// Events of all streams.
    pub events: u64,
    /// Connections opened.
    pub connections: u64,
    /// Requests sent again on a new connection, because the server closed the old one as they went out.
    pub resent: u64,
    /// Most requests in flight at once, added over the threads.
    pub peak_in_flight: u64,
    /// Lateness of sending.
    pub schedule_lag: SpanSummary,
    /// Upper bound of the time between arrival and stamp.
    pub read_lag: SpanSummary,
}

/// Why the client was at its limit.
#[derive(Clone, Debug, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Limited {
    /// It sent too late.
    #[error(
        "requests went out {p99_ns} ns late at the 99th percentile, at most {allowed_ns} ns are allowed"
    )]
    Schedule {
        /// As it was.
        p99_ns: u64,
        /// As it may be.
        allowed_ns: u64,
    },
    /// It read too late.
    #[error(
        "bytes lay up to {p99_ns} ns unread at the 99th percentile, at most {allowed_ns} ns are allowed"
    )]
    Reading {
        /// As it was.
        p99_ns: u64,
        /// As it may be.
        allowed_ns: u64,
    },
    /// It was too busy.
    #[error("a thread used {share:.2} of its core, at most {BUSY_SHARE:.2} is allowed")]
    Busy {
        /// As it was.
        share: f64,
    },
}

impl Account {
    /// Sums over the threads.
    pub fn summary(&self) -> AccountSummary {
        let sum = |of: fn(&ThreadAccount) -> u64| self.threads.iter().map(of).sum();
        AccountSummary {
            threads: self.threads.len(),
            busy_share: self.busy_share(),
            reads: sum(|thread| thread.reads),
            events: sum(|thread| thread.events),
            connections: sum(|thread| thread.connections),
            resent: sum(|thread| thread.resent),
            peak_in_flight: sum(|thread| thread.peak_in_flight),
            schedule_lag: self.merged(|thread| &thread.schedule_lag).summary(),
            read_lag: self.merged(|thread| &thread.read_lag).summary(),
        }
    }

    /// Share of its core that the busiest thread used.
    pub fn busy_share(&self) -> Option<f64> {
        let shares = self.threads.iter().filter(|thread| thread.wall_ns > 0);
        shares.map(|thread| thread.cpu_ns as f64 / thread.wall_ns as f64).reduce(f64::max)
    }

    /// Whether and why the client was at its limit. `median_gap_ns` is the median gap between tokens, where there are gaps.
    pub fn limits(&self, median_gap_ns: Option<u64>) -> Vec<Limited> {
        let share = median_gap_ns.map_or(0.0, |gap| gap as f64 * LAG_SHARE) as u64;
        let allowed_ns = LAG_NS.max(share);
        let p99 = |of: fn(&ThreadAccount) -> &Spans| {
            self.merged(of).percentile(99.0).filter(|p99| *p99 > allowed_ns)
        };
        let mut limits = Vec::new();
        limits.extend(
            p99(|thread| &thread.schedule_lag)
                .map(|p99_ns| Limited::Schedule { p99_ns, allowed_ns }),
        );
        limits.extend(
            p99(|thread| &thread.read_lag).map(|p99_ns| Limited::Reading { p99_ns, allowed_ns }),
        );
        limits.extend(
            self.busy_share()
                .filter(|share| *share > BUSY_SHARE)
                .map(|share| Limited::Busy { share }),
        );
        limits
    }

    fn merged(&self, of: fn(&ThreadAccount) -> &Spans) -> Spans {
        let mut all = Spans::default();
        for thread in &self.threads {
            all.merge(of(thread));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(lag_ns: u64, cpu_ns: u64) -> Account {
        let mut thread = ThreadAccount { cpu_ns, wall_ns: 100, ..ThreadAccount::default() };
        thread.schedule_lag.add(lag_ns);
        thread.read_lag.add(1000);
        Account { threads: vec![ThreadAccount::default(), thread] }
    }

    /// 5 % of a median gap of 40 ms is 2 ms; without gaps 1 ms is allowed.
    #[test]
    fn is_limited_by_lag_and_by_load() {
        assert_eq!(account(900_000, 70).limits(None), []);
        assert_eq!(account(1_900_000, 70).limits(Some(40_000_000)), []);
        assert!(matches!(
            account(1_100_000, 70).limits(Some(10_000_000))[..],
            [Limited::Schedule { allowed_ns: 1_000_000, .. }]
        ));
        assert!(matches!(account(1, 71).limits(None)[..], [Limited::Busy { .. }]));
    }

    #[test]
    fn nothing_is_not_zero() {
        let summary = Account::default().summary();
        assert_eq!((summary.busy_share, summary.schedule_lag.p50_ns), (None, None));
    }
}
