//! One comparison by two methods. A thing is said only if both intervals say it, that is if their hull does.
//!
//! | pairs | primary | check |
//! |---|---|---|
//! | one session | Hodges-Lehmann of slot-adjusted log ratios, exact signed-rank interval | slot regression, t on n - 2 |
//! | three sessions or more | t over the sessions' Hodges-Lehmann estimates, S - 1 | t over the sessions' means, S - 1 |
//! | an odd statistic | BCa bootstrap by session and pair, from 20 pairs on | as above |
//!
//! After gamma is taken out the signed-rank interval is no longer exact: alone it misses 5.2 to 6.4 % of the time at 5 %.

use serde::{Deserialize, Serialize};

use super::bootstrap::{self, Bca};
use super::interval::Interval;
use super::pair::{Pair, adjusted, sessions, slot_effect};
use super::session::{self, FEWEST};
use super::signed_rank::HodgesLehmann;
use super::student::SlotRegression;
use super::{deviation, mean};

/// How the values of a metric behave from run to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// A mean or a rate: ranks apply.
    #[default]
    Location,
    /// An extreme percentile, goodput: only resampling applies.
    Odd,
}

/// Why pairs give no estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Insufficient {
    /// At least so many pairs are needed.
    Pairs(usize),
    /// At least so many sessions are needed, or only one.
    Sessions(usize),
    /// Both orders have to occur, and every ratio has to be a number.
    Unbalanced,
}

/// Two methods over the same pairs, ready to be asked for intervals.
#[derive(Clone, Debug)]
pub struct Estimator {
    primary: Method,
    check: Method,
    /// Sample standard deviation of one unit: of an adjusted pair, or of a session's mean.
    pub deviation: f64,
    /// Units: pairs of one session, or sessions.
    pub units: usize,
    /// Degrees of freedom that the check has fewer than units.
    pub lost: usize,
    /// gamma, the effect of coming second.
    pub slot_effect: f64,
}

#[derive(Clone, Debug)]
enum Method {
    Rank(HodgesLehmann),
    Regression(SlotRegression),
    Bootstrap(Bca),
    Sessions(Vec<f64>),
}

impl Method {
    fn interval(&self, alpha: f64) -> Option<Interval> {
        match self {
            Self::Rank(found) => Some(found.interval(alpha)),
            Self::Regression(found) => Some(found.interval(alpha)),
            Self::Bootstrap(found) => Some(found.interval(alpha)),
            Self::Sessions(estimates) => session::across(estimates, alpha),
        }
    }
}

/// What both methods say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Of the primary method.
    pub primary: Interval,
    /// Of the check.
    pub check: Interval,
}

impl Estimate {
    /// What both exclude.
    pub fn hull(self) -> Interval {
        self.primary.hull(self.check)
    }
}

impl Estimator {
    /// Of pairs of one session or of several; `seed` is of the bootstrap.
    pub fn of(pairs: &[Pair], statistic: Statistic, seed: u64) -> Result<Self, Insufficient> {
        let (Some(without), Some(slot_effect)) = (adjusted(pairs), slot_effect(pairs)) else {
            return Err(Insufficient::Unbalanced);
        };
        let names = sessions(pairs);
        let several = names.len() > 1;
        if several && names.len() < FEWEST {
            return Err(Insufficient::Sessions(FEWEST));
        }
        let means = session::each(pairs, &without, mean).ok_or(Insufficient::Unbalanced)?;
        let regression = SlotRegression::of(pairs).ok_or(Insufficient::Pairs(3))?;
        let middles = || {
            let middle = |own: &[f64]| HodgesLehmann::of(own).map(|found| found.estimate());
            session::each(pairs, &without, middle).ok_or(Insufficient::Unbalanced)
        };
        let primary = match statistic {
            Statistic::Odd if pairs.len() < bootstrap::FEWEST => {
                return Err(Insufficient::Pairs(bootstrap::FEWEST));
            }
            Statistic::Odd => {
                let of: Vec<u32> = pairs.iter().map(|pair| pair.session).collect();
                let groups = bootstrap::groups(&without, &of);
                let found = Bca::of(&groups, mean, bootstrap::RESAMPLES, seed);
                Method::Bootstrap(found.ok_or(Insufficient::Unbalanced)?)
            }
            Statistic::Location if several => Method::Sessions(middles()?),
            Statistic::Location => {
                Method::Rank(HodgesLehmann::of(&without).ok_or(Insufficient::Unbalanced)?)
            }
        };
        let (check, deviation, units, lost) = if several {
            let spread = deviation(&means).ok_or(Insufficient::Sessions(FEWEST))?;
            (Method::Sessions(means.clone()), spread, means.len(), 1)
        } else {
            let spread = regression.error * (pairs.len() as f64).sqrt();
            (Method::Regression(regression), spread, pairs.len(), 2)
        };
        Ok(Self { primary, check, deviation, units, lost, slot_effect })
    }

    /// Both intervals that miss with probability `alpha`; one that cannot be had excludes nothing.
    pub fn estimate(&self, alpha: f64) -> Estimate {
        let nothing =
            Interval { estimate: f64::NAN, lower: f64::NEG_INFINITY, upper: f64::INFINITY };
        let of = |method: &Method| method.interval(alpha).unwrap_or(nothing);
        Estimate { primary: of(&self.primary), check: of(&self.check) }
    }
}

/// The half width of a two-sided t interval of `units` units with `lost` degrees of freedom less.
pub fn half_width(deviation: f64, units: usize, lost: usize, alpha: f64) -> f64 {
    if units <= lost {
        return f64::INFINITY;
    }
    let quantile = super::distribution::t_quantile(1.0 - alpha / 2.0, (units - lost) as f64);
    quantile * deviation / (units as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::pair::Order;
    use crate::statistics::tests::close;

    fn pairs(log_ratios: &[f64], sessions: u32) -> Vec<Pair> {
        let each = log_ratios.len() / sessions as usize;
        let of = |(index, &log_ratio): (usize, &f64)| Pair {
            log_ratio,
            order: [Order::ReferenceFirst, Order::SubjectFirst][index % 2],
            session: (index / each) as u32 + 1,
        };
        log_ratios.iter().enumerate().map(of).collect()
    }

    /// Twelve ratios around 1 %.
    const TWELVE: [f64; 12] =
        [0.012, 0.008, 0.011, 0.009, 0.013, 0.007, 0.010, 0.012, 0.009, 0.010, 0.011, 0.008];

    #[test]
    fn one_session_is_judged_by_pairs_and_several_by_sessions() {
        let one = Estimator::of(&pairs(&TWELVE, 1), Statistic::Location, 1).unwrap();
        assert_eq!((one.units, one.lost), (12, 2));
        let several = Estimator::of(&pairs(&TWELVE, 3), Statistic::Location, 1).unwrap();
        assert_eq!((several.units, several.lost), (3, 1));
        for found in [one, several] {
            let hull = found.estimate(0.05).hull();
            close(hull.estimate, 0.01, 5e-4);
            assert!(hull.lower > 0.007 && hull.upper < 0.013);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let of = |count: usize, sessions, statistic| {
            Estimator::of(&pairs(&TWELVE[..count], sessions), statistic, 1).unwrap_err()
        };
        assert_eq!(of(12, 2, Statistic::Location), Insufficient::Sessions(3));
        assert_eq!(of(12, 1, Statistic::Odd), Insufficient::Pairs(20));
        assert_eq!(of(2, 1, Statistic::Location), Insufficient::Pairs(3));
        assert_eq!(of(1, 1, Statistic::Location), Insufficient::Unbalanced);
    }

    #[test]
    fn few_pairs_exclude_nothing() {
        let found = Estimator::of(&pairs(&TWELVE[..4], 1), Statistic::Location, 1).unwrap();
        assert!(!found.estimate(0.05).hull().is_bounded());
        assert!(found.estimate(0.05).check.is_bounded());
    }
}
