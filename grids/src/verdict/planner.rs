//! Before the first run: how likely a plan is to find an effect, and how many pairs that takes.

use super::control::UNTROUBLED;
use crate::series::Plan;
use crate::spec::{Axis, Claim};
use crate::statistics::power::{pairs_needed, power_beyond_floor};

/// The probability that an axis of the plan, with `pairs` pairs, has the word for a change for the worse by the log ratio
/// `effect`: its interval has to lie beyond the margin and beyond what the null arm shows. Each word at the level that Holm's
/// procedure begins with. `None` where no noise is expected or units are sessions, whose spread nobody knows beforehand.
pub fn power(plan: &Plan, axis: &Axis, effect: f64, pairs: usize) -> Option<f64> {
    if plan.sessions > 1 {
        return None;
    }
    let deviation = plan.expected_noise? * 2.0_f64.sqrt();
    let level = plan.alpha / plan.tests().max(1) as f64;
    let bound = match axis.claim {
        Claim::Parity => axis.margin().max(axis.floor.log()),
        Claim::Change => axis.floor.log(),
    };
    Some(UNTROUBLED * power_beyond_floor(effect, deviation, pairs, level, bound))
}

/// How many pairs it takes until [`power`] is at least `target`.
pub fn pairs(plan: &Plan, axis: &Axis, effect: f64, target: f64) -> Option<usize> {
    power(plan, axis, effect, plan.pairs())?;
    pairs_needed(|pairs| power(plan, axis, effect, pairs).unwrap_or(0.0), target)
}
