//! Energy of a window, by the GPU's own counter, where the window is long enough for it.

use crate::clocks::bound::ENERGY_SECONDS;
use crate::clocks::gpu::Recording;

/// Joules between the first and the last sample of all GPUs together. `None` below [`ENERGY_SECONDS`], without GPUs, or where a counter
/// is missing or goes back.
pub fn joules(recordings: &[Recording]) -> Option<f64> {
    let each: Vec<f64> = recordings.iter().map(of_card).collect::<Option<_>>()?;
    (!each.is_empty()).then(|| each.iter().sum())
}

fn of_card(recording: &Recording) -> Option<f64> {
    let (first, last) = (recording.samples.first()?, recording.samples.last()?);
    let seconds = last.at_ns.checked_sub(first.at_ns)? as f64 / 1e9;
    if seconds < ENERGY_SECONDS {
        return None;
    }
    Some(last.energy_mj?.checked_sub(first.energy_mj?)? as f64 / 1e3)
}

/// Joules for each of `tokens`; `None` without tokens or energy.
pub fn joules_per_token(recordings: &[Recording], tokens: u64) -> Option<f64> {
    Some(joules(recordings)? / tokens as f64).filter(|joules| joules.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::judge::fixture::{busy, recording};

    /// 3,000 J in 10 s are two per token of 1,500.
    #[test]
    fn the_counter_over_a_long_window() {
        let over = |seconds: u64, to: Option<u64>| {
            let mut first = busy(0, 1_000);
            let mut last = busy(seconds * 1_000_000_000, 1_000);
            (first.energy_mj, last.energy_mj) = (Some(5_000_000), to);
            vec![recording(vec![first, last])]
        };
        let ten = over(10, Some(8_000_000));
        assert_eq!(joules(&ten), Some(3_000.0));
        assert_eq!(joules_per_token(&ten, 1_500), Some(2.0));
        assert_eq!(joules_per_token(&ten, 0), None);
        assert_eq!(joules(&over(9, Some(8_000_000))), None, "too short");
        assert_eq!(joules(&over(10, None)), None);
        assert_eq!(joules(&over(10, Some(4_000_000))), None, "the counter went back");
        assert_eq!(joules(&[]), None, "no GPU used no measured energy, which is not none");
    }
}
