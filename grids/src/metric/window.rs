//! A stretch of the run's clock, half open.

use serde::{Deserialize, Serialize};

use crate::load::trace::Trace;

/// From `from_ns` up to and without `to_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Its first nanosecond.
    pub from_ns: u64,
    /// The first nanosecond after it.
    pub to_ns: u64,
}

impl Window {
    /// A window that holds at least one nanosecond.
    pub fn new(from_ns: u64, to_ns: u64) -> Option<Self> {
        (from_ns < to_ns).then_some(Self { from_ns, to_ns })
    }

    /// The whole run: from the first send through the last end (a nanosecond after it, so that the last event lies inside).
    pub fn full(traces: &[Trace]) -> Option<Self> {
        let from_ns = traces.iter().map(|trace| trace.sent_ns).min()?;
        let to_ns = traces.iter().map(|trace| trace.ended_ns).max()?;
        Self::new(from_ns, to_ns.checked_add(1)?)
    }

    /// Its length.
    pub fn length_ns(self) -> u64 {
        self.to_ns - self.from_ns
    }

    /// Whether a moment lies inside.
    pub fn holds(self, at_ns: u64) -> bool {
        (self.from_ns..self.to_ns).contains(&at_ns)
    }
}
