//! One comparison that no rule stands against: its estimates, its word at a level, and why it has none.

use serde::{Deserialize, Serialize};

use super::control::{Null, Scope, measure};
use super::decide::{Bounds, word};
use super::next::{Next, Spread};
use super::pairing::{Discard, Paired, pair};
use super::word::Word;
use crate::series::Comparison;
use crate::spec::{Axis, Claim};
use crate::statistics::estimate::{Estimate, Estimator, Insufficient};
use crate::statistics::interval::Interval;
use crate::statistics::power::units_needed;
use crate::statistics::{mean, median, sign_test, signed_rank};

/// Halvings of the search for the least level at which a comparison has a word.
const HALVINGS: usize = 40;
/// The largest level of an interval.
const WIDEST: f64 = 0.999;

/// Why a comparison has no word.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Both intervals hold a bound.
    Wide,
    /// One method has a word, the other not or another.
    MethodDisagree,
    /// Time has a word, cycles not: it is the clock's, not the code's.
    ClockEffect,
    /// The null arm shows as much between equals as is to be established.
    Floor,
    /// The reference moved over the session, by so much as a log ratio.
    Drift(f64),
    /// The reference jumped, by so much as a log ratio.
    Step(f64),
    /// Pairs were discarded, and fewer are left than were planned.
    Discarded(usize),
    /// The plan has not come to its next look.
    NotYet,
    /// There is no estimate.
    Few(Insufficient),
}

/// What else one may like to see. Nothing is decided by it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// Every pair in order of time, (reference, subject), in the unit of the metric.
    pub values: Vec<(f64, f64)>,
    /// Subject over reference, of medians; as measured, not turned.
    pub of_medians: Option<f64>,
    /// Of means.
    pub of_means: Option<f64>,
    /// Of least values.
    pub of_minima: Option<f64>,
}

impl Described {
    fn of(values: &[(f64, f64)]) -> Self {
        let (reference, subject): (Vec<f64>, Vec<f64>) = values.iter().copied().unzip();
        let ratio = |of: &dyn Fn(&[f64]) -> Option<f64>| Some(of(&subject)? / of(&reference)?);
        Self {
            values: values.to_vec(),
            of_medians: ratio(&median),
            of_means: ratio(&mean),
            of_minima: ratio(&|values| values.iter().copied().reduce(f64::min)),
        }
    }
}

/// A comparison: the only place of a ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// The word.
    pub word: Word,
    /// Why it is not established.
    pub reasons: Vec<Reason>,
    /// Pairs that were compared.
    pub pairs: usize,
    /// Pairs that were not.
    pub discarded: Vec<Discard>,
    /// Sessions; what one says holds for that one start of the servers.
    pub sessions: u32,
    /// The level of the intervals: alpha, shared among the family and the looks.
    pub level: f64,
    /// In time.
    pub time: Estimate,
    /// In cycles; none where the clock was not seen or has no part.
    pub cycles: Option<Estimate>,
    /// What all of them exclude: the interval that decides.
    pub deciding: Interval,
    /// By what.
    pub bounds: Bounds,
    /// Of the null arm.
    pub null: Interval,
    /// What coming second did to ln(ratio).
    pub slot_effect: f64,
    /// p-value of the sign test, as a sanity check.
    pub sign_p: Option<f64>,
    /// What decides nothing.
    pub described: Described,
}

impl Compared {
    /// Subject over reference, turned so that above 1 is better.
    pub fn ratio(&self) -> f64 {
        self.time.primary.estimate.exp()
    }
}

/// A comparison before its level is known.
pub(super) struct Ready {
    paired: Paired,
    time: Estimator,
    cycles: Option<Estimator>,
    bounds: Bounds,
    spec_floor: f64,
    null: Null,
    /// What keeps it from a word whatever the intervals say.
    withheld: Vec<Reason>,
    sessions: u32,
    /// The plan's, at which the null arm is judged.
    alpha: f64,
    /// Terminal legs without an outcome, at the end of the plan.
    to_come: usize,
}

impl Ready {
    /// The estimates of a comparison; why there are none otherwise.
    pub(super) fn of(
        scope: &Scope<'_>,
        axis: &Axis,
        comparison: &Comparison,
        null: Null,
    ) -> Result<Self, Reason> {
        let Scope { plan, outcomes, cell, up_to } = *scope;
        let paired = pair(plan, outcomes, cell, comparison, measure(axis), up_to)
            .ok_or(Reason::Few(Insufficient::Unbalanced))?;
        let estimator = |pairs: &[_]| {
            let found = Estimator::of(pairs, axis.statistic, plan.seed);
            found.map_err(|few| match paired.discarded.len() {
                0 => Reason::Few(few),
                discarded => Reason::Discarded(discarded),
            })
        };
        let time = estimator(&paired.time)?;
        let cycles = paired.cycles.as_deref().map(estimator).transpose()?;
        let mut withheld = Vec::new();
        let moved = scope.drifted(axis, &comparison.reference, null.floor);
        withheld.extend(moved.map(|drift| Reason::Drift(drift.over_series)));
        let jumped = scope.stepped(axis, &comparison.reference, null.floor);
        withheld.extend(jumped.map(|step| Reason::Step(step.size)));
        let missing = up_to.saturating_sub(paired.time.len());
        if missing > 0 {
            withheld.push(Reason::Discarded(missing));
        }
        let to_come = if up_to == plan.pairs() { scope.ends_to_come() } else { 0 };
        if to_come > 0 {
            withheld.push(Reason::NotYet);
        }
        let bounds = Bounds {
            claim: axis.claim,
            margin: axis.margin(),
            equivalence: axis.equivalence.as_ref().map(crate::spec::Bound::log),
            floor: null.floor,
        };
        let (spec_floor, sessions, alpha) = (axis.floor.log(), plan.sessions, plan.alpha);
        Ok(Self {
            paired,
            time,
            cycles,
            bounds,
            spec_floor,
            null,
            withheld,
            sessions,
            alpha,
            to_come,
        })
    }

    /// The least level at which the intervals give a word; 1 where none does or something withholds it.
    pub(super) fn decisive_level(&self) -> f64 {
        if !self.withheld.is_empty() || !self.stated(WIDEST).is_established() {
            return 1.0;
        }
        let (mut without, mut with) = (f64::MIN_POSITIVE.ln(), WIDEST.ln());
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(without, with);
            if self.stated(middle.exp()).is_established() {
                with = middle;
            } else {
                without = middle;
            }
        }
        with.exp()
    }

    /// What all methods and spaces say at a level.
    fn stated(&self, alpha: f64) -> Word {
        let word = self.said(alpha, Self::hull);
        if word == Word::Inconclusive && self.is_grossly_worse(alpha) {
            return if self.bounds.claim == Claim::Parity { Word::Fail } else { Word::Regressed };
        }
        word
    }

    fn said(&self, alpha: f64, interval: impl Fn(&Self, f64) -> Interval) -> Word {
        let level = |alpha: f64| alpha.min(WIDEST);
        word(interval(self, level(alpha)), interval(self, level(2.0 * alpha)), &self.bounds)
    }

    fn hull(&self, alpha: f64) -> Interval {
        let time = self.time.estimate(alpha).hull();
        self.cycles.as_ref().map_or(time, |cycles| time.hull(cycles.estimate(alpha).hull()))
    }

    /// So few pairs that ranks can show nothing, and yet every one is worse by more than the bound and the worst null pair, as is
    /// the t interval.
    fn is_grossly_worse(&self, alpha: f64) -> bool {
        let pairs = &self.paired.time;
        if self.time.units != pairs.len() || pairs.len() >= signed_rank::needed(alpha) {
            return false;
        }
        let bound = self.bounds.margin.max(self.spec_floor) + self.null.largest;
        let check = self.time.estimate(alpha).check;
        check.upper < -bound && pairs.iter().all(|pair| pair.log_ratio < -bound)
    }

    /// The comparison at its level, with the cheapest next action.
    pub(super) fn at(&self, alpha: f64) -> (Compared, Next) {
        let stated = self.stated(alpha);
        let mut reasons = self.withheld.clone();
        if !stated.is_established() {
            reasons.push(self.undecided(alpha));
        }
        let word = if reasons.is_empty() { stated } else { Word::Inconclusive };
        let next = reasons.first().map_or(Next::Nothing, |reason| self.next(*reason, alpha));
        let differences: Vec<f64> = self.paired.time.iter().map(|pair| pair.log_ratio).collect();
        let compared = Compared {
            word,
            reasons,
            pairs: self.paired.time.len(),
            discarded: self.paired.discarded.clone(),
            sessions: self.sessions,
            level: alpha,
            time: self.time.estimate(alpha),
            cycles: self.cycles.as_ref().map(|cycles| cycles.estimate(alpha)),
            deciding: self.hull(alpha),
            bounds: self.bounds,
            null: self.null.interval,
            slot_effect: self.time.slot_effect,
            sign_p: sign_test::p_value(&differences),
            described: Described::of(&self.paired.values),
        };
        (compared, next)
    }

    /// Why the intervals give no word.
    fn undecided(&self, alpha: f64) -> Reason {
        let by = |interval: fn(Estimate) -> Interval| {
            self.said(alpha, |ready, alpha| interval(ready.time.estimate(alpha)))
        };
        let (primary, check) = (by(|found| found.primary), by(|found| found.check));
        let resolved = Bounds { floor: self.spec_floor, ..self.bounds };
        let level = |alpha: f64| self.hull(alpha.min(WIDEST));
        if by(Estimate::hull).is_established() {
            Reason::ClockEffect
        } else if word(level(alpha), level(2.0 * alpha), &resolved).is_established() {
            Reason::Floor
        } else if primary.is_established() || check.is_established() {
            Reason::MethodDisagree
        } else {
            Reason::Wide
        }
    }

    fn next(&self, reason: Reason, alpha: f64) -> Next {
        let spread = self.spread();
        match reason {
            Reason::Wide | Reason::MethodDisagree => spread.until_established(&self.bounds, alpha),
            Reason::ClockEffect => Next::EqualiseClocks,
            Reason::Floor => self.null_needs(),
            Reason::Drift(_) | Reason::Step(_) => Next::Settle,
            Reason::Discarded(pairs) => spread.more(spread.units + pairs),
            Reason::NotYet => Next::Run(self.to_come),
            Reason::Few(_) => spread.more(spread.units),
        }
    }

    fn spread(&self) -> Spread {
        let cycles = self.cycles.as_ref().map_or(0.0, |cycles| cycles.deviation);
        Spread {
            estimate: self.time.estimate(WIDEST).primary.estimate,
            deviation: self.time.deviation.max(cycles),
            units: self.time.units,
            lost: self.time.lost,
            is_sessions: self.sessions > 1,
        }
    }

    /// How many more until the null arm's interval is within the bound that is to be established.
    fn null_needs(&self) -> Next {
        let wanted = match self.bounds.claim {
            Claim::Parity => self.bounds.margin,
            Claim::Change => self.bounds.equivalence.unwrap_or(self.spec_floor),
        };
        let Null { interval, deviation, units, lost, .. } = self.null;
        let distance = wanted - interval.estimate.abs();
        match units_needed(deviation, lost, distance, self.alpha) {
            Some(needed) => {
                Next::MoreNullPairs(needed.saturating_sub(units).max(2).next_multiple_of(2))
            }
            None => Next::OtherBound,
        }
    }
}
