//! What must hold of any verdict.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::fixture::{AB, Ab, METRIC, Model, PARITY, ab, set, simulate};
use super::{Compared, Judged, Next, Reason, Report, Verdict, Word, judge, text};
use crate::rule::{Rule, Violation};
use crate::series::{Comparison, Ended, Leg, Outcome, Outcomes, Plan, Role, build};
use crate::spec::{Because, Bound, Control, Expect, Percent, named};
use crate::statistics::estimate::Insufficient;

const QUIET: f64 = 0.002;

fn model(effect: f64) -> Model {
    Model { effect, noise: QUIET, ..Model::default() }
}

fn bound(percent: f64) -> Bound {
    Bound { percent: Percent(percent), because: Because("test".to_owned()) }
}

fn only(report: &Report) -> &Verdict {
    assert_eq!(report.verdicts.len(), 1);
    &report.verdicts[0]
}

fn compared(report: &Report) -> &Compared {
    match &only(report).judged {
        Judged::Compared(compared) => compared,
        other => panic!("{other:?}"),
    }
}

fn measured<'a>(plan: &'a Plan, arm: &'a str) -> impl Iterator<Item = &'a Leg> {
    plan.legs.iter().filter(move |leg| leg.arm == arm && leg.role == Role::Measured)
}

fn outcome<'a>(outcomes: &'a mut Outcomes, leg: &Leg) -> &'a mut Outcome {
    outcomes.get_mut(&leg.id).unwrap()
}

/// A void word tells rules and reasons, and has nothing in it that could be read as a ratio.
fn assert_void(report: &Report, rule: Rule) {
    for verdict in &report.verdicts {
        assert_eq!(verdict.word(), Word::Void, "{verdict:?}");
        assert!(verdict.rules().contains(&rule), "{verdict:?}");
        assert!(matches!(&verdict.next, Next::Mend(rules) if rules.contains(&rule)));
        assert!(!text::line(verdict).contains('['), "{}", text::line(verdict));
        let json = serde_json::to_string(verdict).unwrap();
        assert!(!json.contains("estimate"), "{json}");
    }
    assert_eq!(report.word().exit_status(), 4);
}

#[test]
fn every_word_as_it_is_printed() {
    let parity = ab(&PARITY);
    let change = ab(&AB);
    let mut lines = Vec::new();
    for (plan, effect) in [
        (&parity, 0.03),
        (&parity, 0.0),
        (&parity, -0.017),
        (&parity, -0.02),
        (&parity, -0.04),
        (&change, -0.03),
        (&change, 0.007),
    ] {
        lines.push(text::report(&judge(plan, &simulate(plan, &model(effect), 5))));
    }
    let mut failed = simulate(&parity, &model(0.0), 5);
    let leg = measured(&parity, "b").nth(3).unwrap();
    outcome(&mut failed, leg).violations.push(Violation::new(Rule::Throttle, "power brake"));
    outcome(&mut failed, leg).ended = Ended::Failed("the server died".to_owned());
    lines.push(text::report(&judge(&parity, &failed)));
    let mut skipped = simulate(&parity, &model(0.0), 5);
    for leg in measured(&parity, "b") {
        outcome(&mut skipped, leg).ended = Ended::Skipped("b is not provisioned".to_owned());
    }
    skipped.remove(&parity.legs.last().unwrap().id);
    lines.push(text::report(&judge(&parity, &skipped)));
    lines.push(text::report(&judge(&parity, &Outcomes::new())));
    insta::assert_snapshot!(lines.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever rule fires on whatever run, there is no number, however good the others are.
    #[test]
    fn a_broken_rule_never_prints_a_ratio(at in 0_usize..30, rule in 0..Rule::ALL.len(), effect in -0.1_f64..0.1, seed: u64) {
        let plan = ab(&PARITY);
        let rule = Rule::ALL[rule];
        let mut outcomes = simulate(&plan, &model(effect), seed);
        let leg = plan.legs.iter().filter(|leg| leg.role != Role::Discarded).nth(at).unwrap();
        outcome(&mut outcomes, leg).violations.push(Violation::new(rule, "planted"));
        assert_void(&judge(&plan, &outcomes), rule);
    }

    /// A value that is no positive number voids; it is never compared, and never passes.
    #[test]
    fn no_number_never_passes(at in 0_usize..10, value in prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -1.0]), arm in prop::sample::select(vec!["a", "b", "a-null"])) {
        let plan = ab(&PARITY);
        let mut outcomes = simulate(&plan, &model(0.05), 3);
        set(&mut outcomes, measured(&plan, arm).nth(at).unwrap(), value);
        assert_void(&judge(&plan, &outcomes), Rule::Metric);
    }

    /// A run that failed or was skipped feeds nothing: the word is the same whatever else its outcome says.
    #[test]
    fn a_failed_or_skipped_run_feeds_no_number(at in 0_usize..10, is_skipped: bool) {
        let plan = ab(&AB);
        let mut outcomes = simulate(&plan, &model(0.0), 3);
        let leg = measured(&plan, "b").nth(at).unwrap();
        let (ended, rule) = if is_skipped {
            (Ended::Skipped("no server".to_owned()), Rule::Skip)
        } else {
            (Ended::Failed("it died".to_owned()), Rule::Failed)
        };
        outcome(&mut outcomes, leg).ended = ended;
        assert_void(&judge(&plan, &outcomes), rule);
    }

    /// Subject for reference inverts ratio and interval. The null arm is of the first, and its floor stands.
    #[test]
    fn swapping_the_arms_inverts_the_ratio(effect in -0.05_f64..0.05, seed: u64) {
        let plan = ab(&AB);
        let outcomes = simulate(&plan, &model(effect), seed);
        let forwards = judge(&plan, &outcomes);
        let Comparison { reference, subject } = plan.comparisons[0].clone();
        let swapped = Plan { comparisons: vec![Comparison { reference: subject, subject: reference }], ..plan.clone() };
        let mut outcomes = outcomes;
        let sha256 = swapped.sha256();
        for outcome in outcomes.values_mut() {
            outcome.plan_sha256.clone_from(&sha256);
        }
        let backwards = judge(&swapped, &outcomes);
        if let (Judged::Compared(a), Judged::Compared(b)) = (&only(&forwards).judged, &only(&backwards).judged) {
            prop_assert!((a.ratio() * b.ratio() - 1.0).abs() < 1e-12);
            for (there, back) in [(a.deciding, b.deciding), (a.time.check, b.time.check)] {
                prop_assert!((there.lower + back.upper).abs() < 1e-12);
                prop_assert!((there.upper + back.lower).abs() < 1e-12);
            }
        } else {
            prop_assert_eq!(only(&forwards).word(), Word::Void);
        }
    }

    /// A subject that is faster in every run never has a worse word.
    #[test]
    fn words_are_monotone_in_the_data(effect in -0.06_f64..0.06, up in 0.0_f64..0.06, seed: u64) {
        let plan = ab(&PARITY);
        let better = |by: f64| {
            let mut outcomes = simulate(&plan, &Model { noise: 0.006, ..model(effect) }, seed);
            for leg in measured(&plan, "b") {
                let value = outcomes[&leg.id].metric(METRIC).unwrap();
                set(&mut outcomes, leg, value * by.exp());
            }
            judge(&plan, &outcomes).word()
        };
        let value = |word: Word| match word { Word::Fail => 0, Word::Inconclusive => 1, Word::Pass | Word::Equivalent => 2, Word::Improved => 3, _ => 9 };
        let (before, after) = (value(better(0.0)), value(better(up)));
        prop_assert!(before <= after || before == 9, "{before} {after}");
    }
}

/// Equals that differ by 4 % void every cell, not the one alone.
#[test]
fn a_null_arm_that_differs_voids_the_series() {
    let plan = ab(&PARITY);
    let mut outcomes = simulate(&plan, &model(0.0), 2);
    for leg in measured(&plan, "a-null") {
        let value = outcomes[&leg.id].metric(METRIC).unwrap();
        set(&mut outcomes, leg, value * 1.04);
    }
    assert_void(&judge(&plan, &outcomes), Rule::NullArm);
}

#[test]
fn a_first_arm_that_is_another_at_the_end_voids() {
    let plan = ab(&PARITY);
    let mut outcomes = simulate(&plan, &model(0.0), 2);
    let end = plan.legs.last().unwrap();
    let value = outcomes[&end.id].metric(METRIC).unwrap();
    set(&mut outcomes, end, value * 0.95);
    assert_void(&judge(&plan, &outcomes), Rule::Terminal);
    outcomes.remove(&end.id);
    let report = judge(&plan, &outcomes);
    assert_eq!(
        (compared(&report).word, compared(&report).reasons.as_slice()),
        (Word::Inconclusive, &[Reason::NotYet][..])
    );
    assert_eq!(only(&report).next, Next::Run(1));
}

#[test]
fn another_workload_or_plan_voids() {
    let plan = ab(&PARITY);
    let leg = measured(&plan, "b").next().unwrap();
    for (name, rule) in [("other", Rule::Workload), ("", Rule::Workload)] {
        let mut outcomes = simulate(&plan, &model(0.0), 2);
        outcome(&mut outcomes, leg).workload_sha256 = name.to_owned();
        assert_void(&judge(&plan, &outcomes), rule);
    }
    let mut again = simulate(&plan, &model(0.0), 2);
    for arm in plan.arms() {
        let (first, second) = (measured(&plan, arm).next(), measured(&plan, arm).nth(1));
        let name = again[&first.unwrap().id].workload_sha256.clone();
        outcome(&mut again, second.unwrap()).workload_sha256 = name;
    }
    assert_void(&judge(&plan, &again), Rule::Workload);
    let mut outcomes = simulate(&plan, &model(0.0), 2);
    outcome(&mut outcomes, leg).plan_sha256 = "another".to_owned();
    assert_void(&judge(&plan, &outcomes), Rule::Plan);
}

/// What was discarded by plan is not asked: the first run of an arm may be anything.
#[test]
fn the_first_run_counts_for_nothing() {
    let plan = ab(&PARITY);
    let mut outcomes = simulate(&plan, &model(0.0), 2);
    let before = judge(&plan, &outcomes);
    for leg in plan.legs.iter().filter(|leg| leg.role == Role::Discarded) {
        set(&mut outcomes, leg, f64::NAN);
    }
    assert_eq!(judge(&plan, &outcomes), before);
}

#[test]
fn a_series_that_is_not_done_says_what_is_to_come() {
    let plan = ab(&PARITY);
    let mut outcomes = simulate(&plan, &model(0.0), 2);
    for leg in plan.legs.iter().filter(|leg| leg.block.is_some_and(|block| block > 8)) {
        outcomes.remove(&leg.id);
    }
    let report = judge(&plan, &outcomes);
    assert_eq!(only(&report).judged, Judged::Unestimated(Reason::NotYet));
    assert_eq!((only(&report).next.clone(), report.word().exit_status()), (Next::Run(6), 3));
}

/// Four pairs can be void, inconclusive, or grossly worse, and nothing else.
#[test]
fn a_smoke_run_can_only_fail_grossly() {
    for (effect, word) in [
        (0.0, Word::Inconclusive),
        (0.5, Word::Inconclusive),
        (-0.03, Word::Inconclusive),
        (-0.5, Word::Fail),
    ] {
        let plan = ab(&Ab { pairs: 4, ..PARITY });
        assert_eq!(judge(&plan, &simulate(&plan, &model(effect), 2)).word(), word, "{effect}");
    }
    let plan = ab(&Ab { pairs: 2, ..PARITY });
    let report = judge(&plan, &simulate(&plan, &model(-0.5), 2));
    assert_eq!(only(&report).judged, Judged::Unestimated(Reason::Few(Insufficient::Pairs(3))));
}

/// Eleven pairs agree that b is 3 % faster and one says 11 % slower: ranks believe the eleven, the mean does not.
#[test]
fn methods_that_disagree_are_inconclusive() {
    let plan = ab(&Ab { pairs: 12, ..AB });
    let mut outcomes = simulate(&plan, &model(0.03), 2);
    let leg = measured(&plan, "b").nth(5).unwrap();
    let value = outcomes[&leg.id].metric(METRIC).unwrap();
    set(&mut outcomes, leg, value * 0.86);
    let report = judge(&plan, &outcomes);
    assert_eq!(compared(&report).reasons, [Reason::MethodDisagree]);
    assert!(matches!(only(&report).next, Next::MorePairs(_)));
}

/// Two of twelve pairs have clocks apart: the rest is estimated, and no word is given before as many pairs are there as were planned.
#[test]
fn discarded_pairs_have_to_be_made_up() {
    let plan = ab(&Ab { pairs: 12, ..PARITY });
    let mut outcomes = simulate(&plan, &model(0.0), 2);
    for leg in measured(&plan, "b").take(2) {
        let clock = outcome(&mut outcomes, leg).clock.as_mut().unwrap();
        clock.median *= 1.02;
    }
    let report = judge(&plan, &outcomes);
    assert_eq!((compared(&report).pairs, compared(&report).discarded.len()), (10, 2));
    assert_eq!(compared(&report).reasons, [Reason::Discarded(2)]);
    assert_eq!(only(&report).next, Next::MorePairs(2));
}

/// The same with two spare blocks: ten of the planned pairs and two in their place. A spare block that nobody called for is not compared.
#[test]
fn spare_blocks_make_discarded_pairs_up() {
    let plan = ab(&Ab { pairs: 12, spares: 2, ..PARITY });
    let all = simulate(&plan, &model(0.0), 2);
    let mut outcomes = all.clone();
    for leg in measured(&plan, "b").take(2) {
        outcome(&mut outcomes, leg).clock.as_mut().unwrap().median *= 1.02;
    }
    let report = judge(&plan, &outcomes);
    assert_eq!((compared(&report).pairs, compared(&report).discarded.len()), (12, 2));
    assert_eq!(
        (only(&report).word(), only(&report).next.clone()),
        (Word::Equivalent, Next::Nothing)
    );
    let spare = |leg: &&Leg| plan.is_spare(leg);
    for leg in plan.legs.iter().filter(spare).take(3) {
        outcomes.remove(&leg.id);
    }
    let report = judge(&plan, &outcomes);
    assert_eq!(only(&report).next, Next::Run(3), "a spare block that is called for is waited for");
    let values = |outcomes: &Outcomes| compared(&judge(&plan, outcomes)).described.values.clone();
    let mut without = all.clone();
    for leg in plan.legs.iter().filter(spare) {
        without.remove(&leg.id);
    }
    assert_eq!(values(&all), values(&without));
}

#[test]
fn controls_that_move_and_that_do_not() {
    let control = |expect| Control { metric: "calls".to_owned(), expect, bound: bound(1.0) };
    let with = |expect, of_b: f64| {
        let mut plan = ab(&PARITY);
        plan.controls = vec![control(expect)];
        let mut outcomes = simulate(&plan, &model(0.0), 2);
        for (index, leg) in plan.legs.iter().enumerate() {
            let calls = if leg.arm == "b" { of_b } else { 1414.0 } + (index % 3) as f64;
            if let Ended::Measured(metrics) = &mut outcome(&mut outcomes, leg).ended {
                metrics.insert("calls".to_owned(), calls);
            }
        }
        judge(&plan, &outcomes)
    };
    assert_eq!(with(Expect::Still, 1414.0).word(), Word::Equivalent);
    assert_void(&with(Expect::Still, 808.0), Rule::Control);
    assert_eq!(with(Expect::Moves, 808.0).word(), Word::Equivalent);
    assert_eq!(with(Expect::Moves, 0.0).word(), Word::Equivalent);
    assert_void(&with(Expect::Moves, 1414.0), Rule::NoControl);
    let mut plan = ab(&PARITY);
    plan.controls = vec![control(Expect::Moves)];
    assert_void(&judge(&plan, &simulate(&plan, &model(0.0), 2)), Rule::NoControl);
}

/// An odd statistic is resampled from 20 pairs on.
#[test]
fn an_odd_statistic_is_resampled() {
    let plan = ab(&Ab { pairs: 20, statistic: "odd", ..PARITY });
    let report = judge(&plan, &simulate(&plan, &model(-0.05), 2));
    assert_eq!(compared(&report).word, Word::Fail);
}

/// A report reads back, unbounded intervals and all.
#[test]
fn a_report_reads_back() {
    for pairs in [4, 10] {
        let plan = ab(&Ab { pairs, ..PARITY });
        let report = judge(&plan, &simulate(&plan, &model(0.0), 2));
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
        let described = &compared(&report).described;
        assert_eq!(described.values.len(), pairs as usize);
        assert!((described.of_medians.unwrap() - 1.0).abs() < 0.01);
    }
}

/// One cell at p about 3 %: alone it has a word, among twelve it has none, and the level says why.
#[test]
fn a_family_shares_its_error() {
    let one = ab(&Ab { pairs: 12, floor: 0.0, ..PARITY });
    let many = Plan {
        cells: (1..=12)
            .map(|i| crate::series::Cell { id: format!("c{i}"), ..one.cells[0].clone() })
            .collect(),
        ..one.clone()
    };
    let legs = |cell: &str| {
        one.legs
            .iter()
            .map(|leg| Leg { id: leg.id.replace("c8", cell), cell: cell.to_owned(), ..leg.clone() })
            .collect::<Vec<_>>()
    };
    let many = Plan { legs: many.cells.iter().flat_map(|cell| legs(&cell.id)).collect(), ..many };
    let words = |plan: &Plan, noise: f64| {
        let report = judge(plan, &simulate(plan, &Model { noise, ..model(0.0) }, 11));
        let levels = report.verdicts.iter().filter_map(|verdict| match &verdict.judged {
            Judged::Compared(compared) => Some((verdict.word(), compared.level)),
            _ => None,
        });
        levels.collect::<Vec<_>>()
    };
    let found = words(&many, 0.014);
    let mut levels: BTreeMap<u64, usize> = BTreeMap::new();
    for (word, level) in &found {
        assert!((0.05 / 12.0 - 1e-12..=0.05).contains(level));
        *levels.entry(level.to_bits()).or_default() += usize::from(!word.is_established());
    }
    // Those without a word share the level at which the first of them failed.
    assert_eq!(levels.values().filter(|count| **count > 0).count(), 1, "{found:?}");
    assert!(found.iter().any(|(word, _)| word.is_established()), "{found:?}");
}

/// Legs on two machines, or in two boots of one, are no comparison, and neither are legs of which nothing says where they ran.
#[test]
fn a_comparison_is_of_one_machine_and_one_boot() {
    let plan = ab(&PARITY);
    let on = |arm: &str, at: usize, machine: &str| {
        let mut outcomes = simulate(&plan, &model(0.05), 3);
        let leg = measured(&plan, arm).nth(at).unwrap();
        outcome(&mut outcomes, leg).machine = machine.to_owned();
        judge(&plan, &outcomes)
    };
    for arm in ["a", "b", "a-null"] {
        assert_void(&on(arm, 4, "another boot"), Rule::Boot);
        assert_void(&on(arm, 0, ""), Rule::Boot);
    }
    assert_ne!(on("b", 4, "m").word(), Word::Void);
}

/// Where the clocks of every pair are apart the comparison is void by V-CLOCK-OFF, which the page of the gaps calls DISCARD; a clock
/// that is seen on one side alone holds nothing apart.
#[test]
fn clocks_of_the_arms_are_held_together() {
    let plan = ab(&PARITY);
    assert_void(
        &judge(&plan, &simulate(&plan, &Model { clock: 0.02, ..model(0.0) }, 1)),
        Rule::ClockOff,
    );
    let mut outcomes = simulate(&plan, &model(0.0), 1);
    let leg = measured(&plan, "b").nth(2).unwrap();
    outcome(&mut outcomes, leg).clock = None;
    assert_void(&judge(&plan, &outcomes), Rule::ClockMiss);
}

/// Two comparisons of which one was skipped: the whole is no pass, and it is not skipped either, because something was compared.
#[test]
fn partly_skipped_is_not_established() {
    let plan = ab(&PARITY);
    let report = judge(&plan, &simulate(&plan, &model(0.0), 5));
    let passed = only(&report).clone();
    let skipped = Verdict { judged: Judged::Skipped(vec!["b".to_owned()]), ..passed.clone() };
    let of = |verdicts: Vec<Verdict>| Report { verdicts, ..report.clone() }.word();
    assert_eq!(of(vec![passed.clone()]).exit_status(), 0);
    assert_eq!(of(vec![passed, skipped.clone()]), Word::Inconclusive);
    assert_eq!(of(vec![skipped]), Word::Skipped);
}

/// A sitting of one cell of two: nothing is said of the other, the word is held to the level of the whole plan, and a cell that has
/// more to say later takes nothing back by being there.
#[test]
fn a_sitting_is_judged_at_the_levels_of_the_whole_plan() {
    let text =
        super::fixture::ab_text(&PARITY).replace("concurrency = [8]", "concurrency = [4, 8]");
    let both = build(&named("test", text, Path::new("test.toml")).unwrap());
    let all = simulate(&both, &model(0.0), 1);
    let first: Outcomes = all
        .iter()
        .filter(|(leg, _)| leg.contains(".c4."))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    let report = judge(&both, &first);
    assert_eq!((report.tests, only(&report).cell.as_str()), (2, "c4"));
    assert_eq!(judge(&both, &all).verdicts.len(), 2);
    assert_eq!(judge(&both, &Outcomes::new()).verdicts.len(), 2, "before anything is run");
    // Bonferroni: half of alpha, where Holm has seen one of two.
    let alone = judge(&ab(&PARITY), &simulate(&ab(&PARITY), &model(0.0), 1));
    assert!(compared(&report).deciding.half_width() > compared(&alone).deciding.half_width());
}
