//! A leg that the machine spoilt is run again at once: on a machine that others share, a core that is steady for the minutes of a block
//! is rare, and one that is steady for a leg is not.
//!
//! Nothing is chosen by what was measured. A run is repeated only for rules that ask what the machine did around it
//! ([`crate::rule::Rule::is_of_the_machine`]), the runs that are kept satisfy the same rules as ever, and how often it may be is part of
//! the plan. Prompts are the same again, so that every arm of the block has the same: a plan with attempts keeps no prefixes.

use std::sync::atomic::Ordering;

use super::leg::{self, Measured};
use super::servers::Server;
use super::{ConductError, Setting, raw};
use crate::clocks::window::Between;
use crate::rule::Rule;
use crate::series::{Ended, Leg, Plan, Role, Spoilt};

/// The last run of a leg, and those before it.
pub struct Attempted {
    /// When the last one began, in seconds of the series.
    pub at_s: f64,
    /// It.
    pub measured: Measured,
    /// Those before it, each spoilt by the machine.
    pub spoilt: Vec<Spoilt>,
}

impl Attempted {
    /// Of a leg that was not begun.
    pub fn skipped(missing: &str, at_s: f64) -> Self {
        let measured = Measured::bare(Ended::Skipped(missing.to_owned()));
        Self { at_s, measured, spoilt: Vec::new() }
    }
}

/// Runs a leg until the machine did not spoil it, at most as often as the plan says; what is discarded anyway, once. `now_s` is the time of
/// the series, `between` the spin that closed the leg before, and then this one's.
pub fn measure(
    plan: &Plan,
    leg: &Leg,
    server: &mut Server,
    setting: &Setting<'_>,
    now_s: impl Fn() -> f64,
    between: &mut Option<Between>,
) -> Result<Attempted, ConductError> {
    if let Some(first) = server.warmth.owed(plan, leg) {
        let progress = setting.ground.progress;
        progress.note(&format!("{} is discarded once more, on a new server", first.id));
        leg::measure(plan, first, &server.running, setting, None)?;
    }
    server.warmth.ran(leg);
    let mut spoilt = Vec::new();
    loop {
        let at_s = now_s();
        let measured = leg::measure(plan, leg, &server.running, setting, between.as_ref())?;
        *between = measured.raw.as_ref().and_then(|raw| Between::closing(&raw.window));
        let is_last = spoilt.len() + 1 >= plan.attempts as usize
            || leg.role == Role::Discarded
            || measured.is_interrupted
            || setting.stop.load(Ordering::SeqCst);
        if is_last || !is_spoilt(&measured) {
            return Ok(Attempted { at_s, measured, spoilt });
        }
        if let Some(raw) = &measured.raw {
            raw::keep_spoilt(setting.folder, &leg.id, raw)?;
        }
        spoilt.push(Spoilt { at_s, violations: measured.violations });
    }
}

/// Whether rules were broken, and only such as are about the machine. That the client was late is the machine's doing where its threads
/// come before everything else on their cores: otherwise the server may have kept it waiting.
fn is_spoilt(measured: &Measured) -> bool {
    let broken = &measured.violations;
    let comes_first = measured.raw.as_ref().is_some_and(|raw| raw.account.comes_first);
    matches!(measured.ended, Ended::Measured(_))
        && !broken.is_empty()
        && broken.iter().all(|found| {
            found.rule.is_of_the_machine() || (found.rule == Rule::Client && comes_first)
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::rule::Violation;

    #[test]
    fn only_the_machine_spoils_a_leg() {
        let of = |rules: &[Rule]| {
            let violations = rules.iter().map(|rule| Violation::new(*rule, "it")).collect();
            let ended = Ended::Measured(BTreeMap::new());
            is_spoilt(&Measured { violations, ..Measured::bare(ended) })
        };
        assert!(of(&[Rule::ClockSpread]) && of(&[Rule::ClockSpread, Rule::Contend]));
        assert!(!of(&[]));
        for other in Rule::ALL.into_iter().filter(|rule| !rule.is_of_the_machine()) {
            assert!(!of(&[other]) && !of(&[Rule::Contend, other]), "{other}");
        }
        let failed = Measured {
            violations: vec![Violation::new(Rule::Contend, "it")],
            ..Measured::bare(Ended::Failed("gone".to_owned()))
        };
        assert!(!is_spoilt(&failed), "a server that died is no machine's fault");
    }
}
