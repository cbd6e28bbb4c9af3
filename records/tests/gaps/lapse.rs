//! When a word stops speaking of the present, and what may not decide one.

use super::*;

/// Only a run of the same gate that was judged, on a binary of the tree, takes a failure off the record.
#[test]
fn what_may_not_decide_supersedes_nothing() {
    let failed = record("tokens", 1, Fail);
    let correcting =
        |word| Record { supersedes: Some("tokens-1".into()), ..record("tokens", 2, word) };
    let by_hand = |mut record: Record| {
        record.subject.info = json!({ "found_by": "--plumb" });
        record
    };
    let crossed = |mut record: Record| {
        record.subject.info = json!({ "compared_with": "--oracle" });
        record
    };
    let of_another_gate =
        Record { supersedes: Some("tokens-1".into()), ..record("speed", 2, Pass) };
    let powerless = [
        correcting(Skipped),
        correcting(Void),
        correcting(NotEstablished),
        by_hand(correcting(Pass)),
        crossed(correcting(Pass)),
        of_another_gate,
    ];
    for other in powerless {
        let records = [failed.clone(), record("tokens", 3, Pass), other];
        assert_eq!(word(&track(&["tokens"]), &records), Word::Fail, "{:?}", records[2].verdict);
    }
    let records = [failed, correcting(Pass)];
    assert_eq!(word(&track(&["tokens"]), &records), Word::Pass);
}

/// A correction that found no number takes back what was claimed, though it puts nothing in its place; wherever it ran, because
/// what was wrong then is wrong now. A skip found nothing.
#[test]
fn a_void_correction_takes_a_claim_back() {
    let claimed = record("tokens", 1, Pass);
    let correcting =
        |word| Record { supersedes: Some("tokens-1".into()), ..record("tokens", 2, word) };
    let tokens = track(&["tokens"]);
    for (correction, expected) in [
        (old(correcting(Void)), Word::Void),
        (old(correcting(NotEstablished)), Word::Unverified),
        (old(record("tokens", 2, Void)), Word::Pass),
        (old(correcting(Skipped)), Word::Pass),
    ] {
        let records = [claimed.clone(), correction];
        assert_eq!(word(&tokens, &records), expected, "{:?}", records[1].verdict);
    }
    // What ran anew and passed is no part of the claim.
    let records = [claimed, correcting(Void), record("tokens", 3, Pass)];
    assert_eq!(word(&tokens, &records), Word::Pass);
}

/// A series judged again from the same runs, as when a gate of its arm came to fail: its FAIL goes with its numbers, and only its.
#[test]
fn a_series_that_is_void_when_judged_again_takes_its_own_fail_back() {
    let series = |plan: &str| {
        Some(Series {
            plan_sha256: plan.into(),
            arms: BTreeMap::new(),
            machines: vec![],
            pairs: 4,
            is_as_declared: true,
            cells: vec![],
        })
    };
    let slow = Record { series: series("plan"), ..record("speed", 1, Fail) };
    for (plan, expected) in [("plan", Word::Void), ("another", Word::Fail)] {
        let void = Record {
            series: series(plan),
            supersedes: Some("speed-1".into()),
            ..record("speed", 2, Void)
        };
        assert_eq!(word(&track(&["speed"]), &[slow.clone(), void]), expected, "{plan}");
    }
}

/// A PASS speaks of the checkpoint and the inputs it was made with, and of no others.
#[test]
fn a_word_lapses_when_checkpoint_or_inputs_change() {
    let on = |sha256: &str, inputs: Option<&str>| Record {
        checkpoint: Some(CheckpointRef { name: "tiny".into(), sha256: sha256.into() }),
        inputs_sha256: inputs.map(str::to_owned),
        ..record("tokens", 1, Pass)
    };
    let with_inputs =
        Present { inputs: BTreeMap::from([("tokens".into(), "inputs".into())]), ..present() };
    let undeclared = Present { checkpoints: BTreeMap::new(), ..with_inputs.clone() };
    let cases = [
        (on(PIN, Some("inputs")), &with_inputs, Word::Pass),
        (on(PIN, Some("older")), &with_inputs, Word::Unverified),
        (on(PIN, None), &with_inputs, Word::Unverified),
        (on("older", Some("inputs")), &with_inputs, Word::Unverified),
        (on(PIN, Some("inputs")), &undeclared, Word::Unverified),
    ];
    for (record, present, expected) in cases {
        let cell = derive(&track(&["tokens"]), &[record], present);
        assert_eq!(cell.word, expected, "{}", cell.why);
    }
}

/// A PASS that nobody can derive again is none, and neither is one by an oracle that is built or launched otherwise now. A
/// failure stands all the same.
#[test]
fn a_word_lapses_without_evidence_and_when_its_oracle_is_defined_otherwise() {
    let bare = |word| Record { evidence: vec![], ..record("tokens", 1, word) };
    let by = |definition: Option<&str>| {
        let mut record = record("tokens", 1, Pass);
        let oracle = record.oracle.as_mut().unwrap();
        oracle.definition_sha256 = definition.map(str::to_owned);
        record
    };
    let cases = [
        (bare(Pass), Word::Unverified),
        (bare(Fail), Word::Fail),
        (by(Some(DEFINITION)), Word::Pass),
        (by(Some("older")), Word::Unverified),
        (by(None), Word::Unverified),
    ];
    for (record, expected) in cases {
        let cell = derive(&track(&["tokens"]), &[record], &present());
        assert_eq!(cell.word, expected, "{}", cell.why);
    }
}

/// A word rests on the golden that its record names, whole and unedited; a live run without one rests on none.
#[test]
fn a_word_lapses_when_its_golden_changes() {
    let by = |source: OracleSource, golden: Option<&str>| {
        let mut record = record("tokens", 1, Pass);
        let oracle = record.oracle.as_mut().unwrap();
        oracle.source = source;
        oracle.golden_sha256 = golden.map(str::to_owned);
        record
    };
    let without = Present { goldens: BTreeMap::new(), ..present() };
    let edited =
        Present { goldens: BTreeMap::from([("tokens".into(), "unreadable".into())]), ..present() };
    let cases = [
        (by(OracleSource::Golden, Some(GOLDEN)), present(), Word::Pass),
        (by(OracleSource::Golden, Some("older")), present(), Word::Unverified),
        (by(OracleSource::Golden, None), present(), Word::Unverified),
        (by(OracleSource::Golden, Some(GOLDEN)), edited.clone(), Word::Unverified),
        (by(OracleSource::Golden, Some(GOLDEN)), without.clone(), Word::Unverified),
        (by(OracleSource::Golden, None), without, Word::Pass),
        (by(OracleSource::Live, None), present(), Word::Pass),
        (by(OracleSource::Live, Some(GOLDEN)), present(), Word::Pass),
        (by(OracleSource::Live, Some(GOLDEN)), edited, Word::Unverified),
    ];
    for (record, present, expected) in cases {
        let cell = derive(&track(&["tokens"]), &[record], &present);
        assert_eq!(cell.word, expected, "{}", cell.why);
        assert_eq!(cell.why.contains("golden"), expected == Word::Unverified, "{}", cell.why);
    }
}

/// Another judge does not make the word lapse, and does not go unsaid.
#[test]
fn another_harness_is_told_beside_the_word() {
    let by = |harness: Option<&str>, word| Record {
        harness_sha256: harness.map(str::to_owned),
        ..record("tokens", 1, word)
    };
    let cell = |record: Record| derive(&track(&["tokens"]), &[record], &present());
    assert_eq!(cell(by(Some(JUDGE), Pass)).why, "tokens PASS (24 compared)");
    for harness in [Some("older"), None] {
        for (verdict, word) in [(Pass, Word::Pass), (Fail, Word::Fail), (Void, Word::Void)] {
            let cell = cell(by(harness, verdict));
            assert_eq!(cell.word, word);
            assert!(cell.why.ends_with("; judged by another harness: tokens"), "{}", cell.why);
        }
    }
}
