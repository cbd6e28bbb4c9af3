//! Proof by simulation, with fixed seeds: the rate of false words is what alpha says, a planted slowdown is found with the pairs that
//! were predicted, and what is no difference is called none.

use super::fixture::{AB, Ab, Model, PARITY, ab, simulate};
use super::{Compared, Judged, Reason, Word, judge, planner};
use crate::series::Plan;
use crate::statistics::distribution::binomial_cdf;
use crate::statistics::interval::Interval;
use crate::statistics::power::POWER;

/// Run-to-run noise of 1 %.
const QUIET: Model = Model {
    effect: 0.0,
    noise: 0.01,
    session: 0.0,
    slot: 0.0,
    drift: 0.0,
    step: 0.0,
    modes: 0.0,
    clock: 0.0,
};

/// What `runs` series say.
#[derive(Debug, Default)]
struct Tally {
    runs: u64,
    improved: u64,
    worse: u64,
    passed: u64,
    inconclusive: u64,
    void: u64,
    /// Series whose deciding interval excludes 0.
    excludes: u64,
    /// The same of each method alone.
    primary: u64,
    check: u64,
}

impl Tally {
    fn of(plan: &Plan, model: &Model, runs: u64) -> Self {
        let mut tally = Self { runs, ..Self::default() };
        for seed in 0..runs {
            let report = judge(plan, &simulate(plan, model, seed));
            let verdict = &report.verdicts[0];
            match verdict.word() {
                Word::Improved => tally.improved += 1,
                Word::Fail | Word::Regressed => tally.worse += 1,
                Word::Pass | Word::Equivalent => tally.passed += 1,
                Word::Inconclusive => tally.inconclusive += 1,
                Word::Void | Word::Skipped => tally.void += 1,
            }
            if let Judged::Compared(compared) = &verdict.judged {
                let excludes = |of: Interval| u64::from(of.lower > 0.0 || of.upper < 0.0);
                tally.excludes += excludes(compared.deciding);
                tally.primary += excludes(compared.time.primary);
                tally.check += excludes(compared.time.check);
            }
        }
        tally
    }

    fn called_different(&self) -> u64 {
        self.improved + self.worse
    }
}

/// Whether `found` of `runs` is what probability `p` gives, but for one case in a hundred.
fn is_likely(found: u64, runs: u64, p: f64) -> bool {
    let at_most = binomial_cdf(found, runs, p);
    let fewer = if found == 0 { 0.0 } else { binomial_cdf(found - 1, runs, p) };
    at_most > 0.005 && 1.0 - fewer > 0.005
}

/// Whether `found` of `runs` is no more than probability `p` gives, but for one case in a hundred.
fn is_no_more(found: u64, runs: u64, p: f64) -> bool {
    found == 0 || 1.0 - binomial_cdf(found - 1, runs, p) > 0.01
}

/// A/A: the t interval misses as often as alpha says, both methods together no more often, and a word, which needs more than the
/// null arm shows, is hardly ever given.
#[test]
fn equals_are_called_different_as_seldom_as_alpha_says() {
    for pairs in [6, 10, 16] {
        let tally = Tally::of(&ab(&Ab { pairs, ..AB }), &QUIET, 400);
        println!("A/A {pairs} pairs: {tally:?}");
        assert!(is_likely(tally.check, tally.runs, 0.05), "{tally:?}");
        assert!(is_no_more(tally.excludes, tally.runs, 0.05), "{tally:?}");
        assert!(tally.excludes * 100 > tally.runs, "not by never saying anything: {tally:?}");
        assert!(is_no_more(tally.called_different(), tally.runs, 0.01), "{tally:?}");
        assert!(is_no_more(tally.void, tally.runs, 0.02), "{tally:?}");
    }
}

/// Ten pairs a session with starts that differ by 1 % look like a difference in 36 % of series; four sessions do not.
#[test]
fn starts_of_servers_are_no_difference_between_arms() {
    let biased = Model { session: 0.01, ..QUIET };
    let tally = Tally::of(&ab(&Ab { pairs: 40, sessions: 4, ..AB }), &biased, 250);
    println!("A/A 4 sessions: {tally:?}");
    assert!(is_likely(tally.check, tally.runs, 0.05), "{tally:?}");
    assert!(is_no_more(tally.excludes, tally.runs, 0.05), "{tally:?}");
    assert!(is_no_more(tally.called_different(), tally.runs, 0.01), "{tally:?}");
}

/// Three looks together are wrong no more often than one.
#[test]
fn looking_early_costs_no_error() {
    let looks = ab(&Ab { pairs: 20, looks: "[12, 16]", floor: 0.0, ..AB });
    let tally = Tally::of(&looks, &QUIET, 250);
    println!("A/A 3 looks: {tally:?}");
    assert!(is_no_more(tally.called_different(), tally.runs, 0.05), "{tally:?}");
}

/// A slowdown of 2 % at 1 % noise is found as often as the planner said, with the pairs that it asked for.
#[test]
fn a_planted_slowdown_is_found_with_the_pairs_that_were_predicted() {
    let slower = -(0.98_f64.ln());
    let mut plan = ab(&AB);
    plan.expected_noise = Some(0.01);
    let axis = plan.axes[0].clone();
    let pairs = planner::pairs(&plan, &axis, slower, POWER).unwrap();
    let predicted = planner::power(&plan, &axis, slower, pairs).unwrap();
    let planted = Model { effect: -slower, ..QUIET };
    let tally = Tally::of(&ab(&Ab { pairs: pairs as u32, ..AB }), &planted, 400);
    println!("-2 %, {pairs} pairs, predicted {predicted:.3}: {tally:?}");
    assert!((16..=24).contains(&pairs), "{pairs}");
    assert!(is_likely(tally.worse, tally.runs, predicted), "predicted {predicted}: {tally:?}");
    assert_eq!(tally.improved, 0);
    assert_eq!(planner::pairs(&plan, &axis, 1e-5, POWER), None);
}

/// A drift of 3 % over the series, 1 % for coming later, modes 3 % to either side of one arm, a jump of 3 % under everything: none of
/// them is a difference between the arms.
#[test]
fn what_moves_both_arms_is_no_difference() {
    let plan = ab(&AB);
    let planted = [
        ("drift", Model { drift: 0.03, ..QUIET }),
        ("slot", Model { slot: 0.01, ..QUIET }),
        ("bimodal", Model { modes: 0.03, ..QUIET }),
        ("step", Model { step: 0.03, ..QUIET }),
    ];
    for (name, model) in planted {
        let tally = Tally::of(&plan, &model, 250);
        println!("{name}: {tally:?}");
        assert!(is_no_more(tally.called_different(), tally.runs, 0.02), "{name}: {tally:?}");
        assert!(is_no_more(tally.excludes, tally.runs, 0.06), "{name}: {tally:?}");
    }
}

/// The same slot effect, seen and taken out: twins forwards and backwards differ by two places.
#[test]
fn the_slot_effect_is_measured() {
    let plan = ab(&AB);
    let model = Model { slot: 0.01, noise: 0.001, ..QUIET };
    let compared = compared(&plan, &model);
    assert!((compared.slot_effect - 0.01).abs() < 0.001, "{}", compared.slot_effect);
    assert_eq!(compared.word, Word::Equivalent);
}

/// 3 % faster at a clock that is half a per cent higher, and 0.8 % faster at one that is 0.8 % higher: the second is the clock's.
#[test]
fn what_the_clock_did_is_not_the_codes() {
    let plan = ab(&Ab { pairs: 16, ..AB });
    let quiet = Model { noise: 0.001, ..QUIET };
    let code = compared(&plan, &Model { effect: 0.03, clock: 0.005, ..quiet });
    assert_eq!(code.word, Word::Improved);
    let clock = compared(&plan, &Model { effect: 0.008, clock: 0.008, ..quiet });
    assert_eq!((clock.word, clock.reasons), (Word::Equivalent, vec![]));
    let parity = ab(&Ab { pairs: 16, ..PARITY });
    let slowed = compared(&parity, &Model { effect: -0.025, clock: -0.0095, ..quiet });
    assert_eq!((slowed.word, slowed.reasons), (Word::Inconclusive, vec![Reason::ClockEffect]));
}

/// Pairs whose clocks are 2 % apart are discarded, each of them, and leave nothing: V-CLOCK-OFF.
#[test]
fn clocks_apart_discard_the_pair() {
    let plan = ab(&AB);
    let report = judge(&plan, &simulate(&plan, &Model { clock: 0.02, ..QUIET }, 1));
    assert_eq!(report.word(), Word::Void);
    assert_eq!(report.verdicts[0].rules(), [crate::rule::Rule::ClockOff]);
}

fn compared(plan: &Plan, model: &Model) -> Compared {
    let report = judge(plan, &simulate(plan, model, 1));
    match &report.verdicts[0].judged {
        Judged::Compared(compared) => (**compared).clone(),
        other => panic!("{other:?}"),
    }
}
