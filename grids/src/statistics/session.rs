//! One estimate of several sessions.
//!
//! Pairs of one session share what that start of the servers brought (placement of memory, order of allocation): ten pairs in one
//! session are not ten independent observations. Each session gives one estimate; the interval comes from these, with S - 1 degrees
//! of freedom. With equally many pairs a session that is the balanced two-level analysis of variance.

use super::interval::Interval;
use super::pair::{Pair, sessions};
use super::student;

/// Fewer sessions than this support no claim beyond themselves.
pub const FEWEST: usize = 3;

/// What `estimate` says of each session's values; `None` where it has nothing to say of one. `values` go with `pairs`.
pub fn each(
    pairs: &[Pair],
    values: &[f64],
    estimate: impl Fn(&[f64]) -> Option<f64>,
) -> Option<Vec<f64>> {
    let of = |session: u32| {
        let own = pairs.iter().zip(values).filter(|(pair, _)| pair.session == session);
        estimate(&own.map(|(_, value)| *value).collect::<Vec<_>>())
    };
    sessions(pairs).into_iter().map(of).collect()
}

/// The t interval over the estimates of sessions; `None` of fewer than [`FEWEST`].
pub fn across(estimates: &[f64], alpha: f64) -> Option<Interval> {
    if estimates.len() < FEWEST { None } else { student::interval(estimates, alpha) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::mean;
    use crate::statistics::pair::Order;
    use crate::statistics::tests::close;

    /// By hand: session means 1, 2, 6; mean 3, s = sqrt(7), t(.975, 2) = 4.302653.
    #[test]
    fn sessions_by_hand() {
        let values = [0.0, 2.0, 1.0, 3.0, 5.0, 7.0];
        let pair = |session| Pair { log_ratio: 0.0, order: Order::ReferenceFirst, session };
        let pairs = [1, 1, 2, 2, 3, 3].map(pair);
        let estimates = each(&pairs, &values, mean).unwrap();
        assert_eq!(estimates, [1.0, 2.0, 6.0]);
        let found = across(&estimates, 0.05).unwrap();
        close(found.estimate, 3.0, 1e-12);
        close(found.half_width(), 4.302_652_729_911 * (7.0_f64 / 3.0).sqrt(), 1e-8);
        assert_eq!(across(&estimates[..2], 0.05), None);
    }
}
