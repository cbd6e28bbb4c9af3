//! How many requests were really in flight: exact overlap of half-open spans, not buckets of a second.

use serde::{Deserialize, Serialize};

use crate::load::trace::Trace;
use crate::metric::stream::arrivals;
use crate::metric::window::Window;

/// A steady window holds at least this share of the planned concurrency, at its edges and on average. SGLang's steady state takes a
/// share of the peak that was reached; a share of the plan cannot be met by a client that never got there.
pub const STEADY_SHARE: f64 = 0.95;

/// The number in flight over time: from each moment, until the next, so many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels(Vec<(u64, u32)>);

/// Spans in which requests were in flight for the client: from the send up to the known end.
pub fn in_flight(traces: &[Trace]) -> Levels {
    Levels::of(traces.iter().map(|trace| (trace.sent_ns, trace.ended_ns)))
}

/// Spans in which requests were answered: from the send up to the last token, which is the send plus the TTFT plus all gaps.
pub fn answering(traces: &[Trace]) -> Levels {
    Levels::of(traces.iter().filter_map(|trace| {
        let last = arrivals(trace)?.last()?.at_ns;
        Some((trace.sent_ns, last))
    }))
}

impl Levels {
    /// Half-open spans; one that ends where another starts does not overlap it.
    pub fn of(spans: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut steps: Vec<(u64, i64)> = Vec::new();
        for (from, to) in spans {
            if from < to {
                steps.extend([(from, 1), (to, -1)]);
            }
        }
        steps.sort_unstable();
        let mut levels: Vec<(u64, u32)> = Vec::new();
        let mut level = 0_i64;
        for (at, step) in steps {
            level += step;
            match levels.last_mut() {
                Some(last) if last.0 == at => last.1 = level as u32,
                _ => levels.push((at, level as u32)),
            }
        }
        Self(levels)
    }

    /// The most at any moment.
    pub fn peak(&self) -> u32 {
        self.0.iter().map(|&(_, level)| level).max().unwrap_or(0)
    }

    /// The mean over a window, weighted by time.
    pub fn mean(&self, window: Window) -> f64 {
        let mut area = 0.0;
        for (index, &(from, level)) in self.0.iter().enumerate() {
            let to = self.0.get(index + 1).map_or(from, |next| next.0).min(window.to_ns);
            let length = to.saturating_sub(from.max(window.from_ns));
            area += length as f64 * f64::from(level);
        }
        area / window.length_ns() as f64
    }

    /// The steady window: from the first moment with [`STEADY_SHARE`] of the plan in flight up to the last, if that is also what was
    /// in flight on average. The short dips of a closed loop between an end and the next send lie inside; ramp-up and drain do not.
    pub fn steady(&self, planned: u32) -> Option<Window> {
        let floor = STEADY_SHARE * f64::from(planned);
        let is_full = |level: u32| f64::from(level) >= floor;
        let first = self.0.iter().position(|&(_, level)| is_full(level))?;
        let last = self.0.iter().rposition(|&(_, level)| is_full(level))?;
        let window = Window::new(self.0[first].0, self.0.get(last + 1)?.0)?;
        (self.mean(window) >= floor).then_some(window)
    }
}

/// What was achieved of what was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Achieved {
    /// Requests in flight as planned; `None` in an open loop without a bound.
    pub planned: Option<u32>,
    /// The most in flight at any moment.
    pub peak: u32,
    /// The mean in flight over the full window.
    pub mean: Option<f64>,
    /// The mean in flight over the steady window.
    pub mean_steady: Option<f64>,
}

impl Achieved {
    /// Of a leg.
    pub fn of(traces: &[Trace], planned: Option<u32>) -> Self {
        let levels = in_flight(traces);
        let steady = planned.and_then(|planned| levels.steady(planned));
        Self {
            planned,
            peak: levels.peak(),
            mean: Window::full(traces).map(|window| levels.mean(window)),
            mean_steady: steady.map(|window| levels.mean(window)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::fixture::is_close;

    /// [0, 10) and [10, 20) touch and do not overlap; [5, 15) overlaps both: 1 2 2 1 over 5 each.
    #[test]
    fn overlap_by_hand() {
        let levels = Levels::of([(0, 10), (10, 20), (5, 15), (7, 7)]);
        assert_eq!(levels, Levels(vec![(0, 1), (5, 2), (10, 2), (15, 1), (20, 0)]));
        assert_eq!(levels.peak(), 2);
        let window = |from, to| Window::new(from, to).unwrap();
        assert!(is_close(levels.mean(window(0, 20)), 1.5));
        assert!(is_close(levels.mean(window(5, 15)), 2.0));
        assert!(is_close(levels.mean(window(12, 40)), (3.0 * 2.0 + 5.0) / 28.0));
    }

    /// Two slots: ramp up, a dip of 2 out of 96, drain. Steady from the second start to the first end without a successor.
    #[test]
    fn the_steady_window_forgives_dips_and_not_ramps() {
        let levels = Levels::of([(0, 50), (52, 100), (4, 120)]);
        assert_eq!(levels.steady(2), Window::new(4, 100));
        assert_eq!(levels.steady(3), None, "never reached");
        let gappy = Levels::of([(0, 10), (90, 100), (0, 100)]);
        assert_eq!(gappy.steady(2), None, "reached twice, but not held: mean 1.2");
        assert_eq!(Levels::of([]).steady(1), None);
    }
}
