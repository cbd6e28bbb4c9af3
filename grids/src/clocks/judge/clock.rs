//! V-CLOCK-MISS, -SPREAD, -COVER and V-THROTTLE. V-CLOCK-OFF is asked of pairs, in [`crate::verdict::pairing`].

use serde::{Deserialize, Serialize};

use crate::clocks::bound::{
    BENIGN_REASONS, BUSY_SAMPLES, BUSY_SECONDS, BUSY_SHARE, CLOCK_SPREAD_PERCENT,
};
use crate::clocks::gpu::{Recording, Sample};
use crate::clocks::window::Window;
use crate::rule::{Rule, Violation};
use crate::statistics;

/// Which clock decides how fast an arm could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The processor's, through the spin.
    Spin,
    /// The GPUs' multiprocessors'.
    Gpu,
}

/// Busy samples of a clock over one or more windows.
#[derive(Clone, Debug, PartialEq)]
pub struct Clock {
    /// MHz, or nanoseconds of a step. While the clock was needed: a GPU's when something ran, all of the spin's.
    pub busy: Vec<f64>,
    /// Share of all samples that are busy.
    pub share: f64,
    /// What the busy samples span; `None` for the spin, which is busy by itself.
    pub seconds: Option<f64>,
}

impl Clock {
    /// Of all windows together; all GPUs of a window count.
    pub fn of(windows: &[&Window], source: Source) -> Self {
        match source {
            Source::Spin => {
                let busy: Vec<f64> =
                    windows.iter().flat_map(|window| &window.spins).flatten().copied().collect();
                Self { busy, share: 1.0, seconds: None }
            }
            Source::Gpu => {
                let cards: Vec<&Recording> =
                    windows.iter().flat_map(|window| &window.gpus).collect();
                let samples = || cards.iter().flat_map(|card| &card.samples);
                let busy: Vec<f64> = samples().filter_map(busy_mhz).collect();
                let share = busy.len() as f64 / samples().count() as f64;
                let seconds = cards.iter().map(|card| busy_seconds(&card.samples)).sum();
                Self { busy, share, seconds: Some(seconds) }
            }
        }
    }
}

/// The clock of a sample in which something ran.
fn busy_mhz(sample: &Sample) -> Option<f64> {
    sample.busy_percent.filter(|&percent| percent > 0)?;
    sample.sm_mhz.map(f64::from)
}

/// Time from each busy sample to the next sample.
fn busy_seconds(samples: &[Sample]) -> f64 {
    let busy = samples.windows(2).filter(|pair| busy_mhz(&pair[0]).is_some());
    busy.map(|pair| pair[1].at_ns.saturating_sub(pair[0].at_ns) as f64 / 1e9).sum()
}

/// V-CLOCK-MISS: there is a window, and the clock that decides is in it: two spins, or at least one GPU.
pub fn miss(window: Option<&Window>, source: Source) -> Option<Violation> {
    let reason = match (window, source) {
        (None, _) => "no window was opened",
        (Some(window), Source::Spin)
            if window.spins.len() < 2 || window.spins.iter().any(Vec::is_empty) =>
        {
            "the window lacks the spin before or after"
        }
        (Some(window), Source::Gpu) if window.gpus.is_empty() => "no GPU was seen",
        _ => return None,
    };
    Some(Violation::new(Rule::ClockMiss, reason))
}

/// V-CLOCK-SPREAD: (max - min) / median of the busy samples is at most [`CLOCK_SPREAD_PERCENT`].
pub fn spread(clock: &Clock) -> Option<Violation> {
    let percent = statistics::summary(&clock.busy).map_or(f64::NAN, |found| found.spread_percent);
    if percent <= CLOCK_SPREAD_PERCENT {
        return None;
    }
    let reason = format!("the clock spread {percent:.2} % of at most {CLOCK_SPREAD_PERCENT} %");
    Some(Violation::new(Rule::ClockSpread, reason))
}

/// V-CLOCK-COVER: at least [`BUSY_SAMPLES`] busy samples, [`BUSY_SHARE`] of all, spanning [`BUSY_SECONDS`].
pub fn cover(clock: &Clock) -> Option<Violation> {
    let (samples, share) = (clock.busy.len(), clock.share);
    let is_long = clock.seconds.is_none_or(|seconds| seconds >= BUSY_SECONDS);
    if samples >= BUSY_SAMPLES && share >= BUSY_SHARE && is_long {
        return None;
    }
    let seconds = clock
        .seconds
        .map_or(String::new(), |seconds| format!(", {seconds:.1} s of {BUSY_SECONDS} s"));
    let reason = format!(
        "{samples} busy samples of {BUSY_SAMPLES}, {:.0} % of all of {:.0} %{seconds}",
        share * 100.0,
        BUSY_SHARE * 100.0
    );
    Some(Violation::new(Rule::ClockCover, reason))
}

/// V-THROTTLE: no busy sample has a reason beyond [`BENIGN_REASONS`], and every one tells its reasons.
pub fn throttle(gpus: &[Recording]) -> Option<Violation> {
    for Recording { card, samples } in gpus {
        let busy = samples.iter().filter(|sample| busy_mhz(sample).is_some());
        let all = busy.clone().count();
        let held = busy
            .clone()
            .filter(|sample| sample.reasons.is_none_or(|bits| bits & !BENIGN_REASONS != 0));
        let held = held.count();
        if held > 0 {
            let bits = busy.filter_map(|sample| sample.reasons).fold(0, |all, bits| all | bits);
            let index = card.index;
            let reason = format!("GPU {index}: in {held} of {all} busy samples, reasons {bits:#x}");
            return Some(Violation::new(Rule::Throttle, reason));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::judge::fixture::{busy, idle, recording, window};

    fn clock(busy: Vec<f64>) -> Clock {
        Clock { busy, share: 1.0, seconds: None }
    }

    #[test]
    fn spread_at_its_bound() {
        assert_eq!(spread(&clock(vec![1_000.0, 1_000.0, 1_050.0])), None);
        let fires = |busy| spread(&clock(busy)).map(|found| found.rule);
        assert_eq!(fires(vec![1_000.0, 1_000.0, 1_050.1]), Some(Rule::ClockSpread));
        assert_eq!(fires(vec![1_000.0, f64::NAN]), Some(Rule::ClockSpread));
        assert_eq!(fires(vec![]), Some(Rule::ClockSpread));
    }

    #[test]
    fn cover_at_its_bounds() {
        let with = |samples, share, seconds| {
            cover(&Clock { busy: vec![1.0; samples], share, seconds }).map(|found| found.rule)
        };
        assert_eq!(with(30, 0.5, Some(10.0)), None);
        assert_eq!(with(30, 0.5, None), None);
        for (samples, share, seconds) in [
            (29, 0.5, Some(10.0)),
            (30, 0.49, Some(10.0)),
            (30, 0.5, Some(9.9)),
            (30, f64::NAN, None),
            (30, 0.5, Some(f64::NAN)),
        ] {
            assert_eq!(with(samples, share, seconds), Some(Rule::ClockCover));
        }
    }

    /// 100 ms apart: three busy of five samples; the last busy one spans nothing.
    #[test]
    fn only_busy_samples_count() {
        let at = |tick: u64| tick * 100_000_000;
        let samples = vec![
            busy(at(0), 1_500),
            idle(at(1)),
            busy(at(2), 1_510),
            idle(at(3)),
            busy(at(4), 1_520),
        ];
        let found = Clock::of(&[&window(vec![recording(samples)])], Source::Gpu);
        assert_eq!(found.busy, [1_500.0, 1_510.0, 1_520.0]);
        assert!((found.share - 0.6).abs() < 1e-12 && (found.seconds.unwrap() - 0.2).abs() < 1e-12);
        let none = Clock::of(&[&window(vec![])], Source::Gpu);
        assert!(none.share.is_nan() && cover(&none).is_some());
    }

    #[test]
    fn a_missing_window_is_missed() {
        let with_gpu = window(vec![recording(vec![busy(0, 1_500)])]);
        assert_eq!(miss(Some(&with_gpu), Source::Gpu), None);
        assert_eq!(miss(Some(&with_gpu), Source::Spin), None);
        assert!(miss(None, Source::Spin).is_some());
        assert!(miss(Some(&window(vec![])), Source::Gpu).is_some());
        let mut once = window(vec![]);
        once.spins.pop();
        assert!(miss(Some(&once), Source::Spin).is_some());
    }

    #[test]
    fn throttle_by_bit() {
        let with = |reasons| {
            let mut sample = busy(0, 1_500);
            sample.reasons = reasons;
            throttle(&[recording(vec![sample, idle(1)])]).map(|found| found.rule)
        };
        for benign in [0, 0x1, 0x2, 0x100, 0x103] {
            assert_eq!(with(Some(benign)), None, "{benign:#x}");
        }
        for held in [0x4, 0x8, 0x10, 0x20, 0x40, 0x80, 0x200, 0x5] {
            assert_eq!(with(Some(held)), Some(Rule::Throttle), "{held:#x}");
        }
        assert_eq!(with(None), Some(Rule::Throttle), "not told");
    }
}
