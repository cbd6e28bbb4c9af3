//! Records that are wrong in one way each, and what the rule makes of them alone and together.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use records::machine::Machine;
use records::metric::Statistic;
use records::metric::{Measurement, Metric};
use records::record::{CheckpointRef, OracleRef, OracleSource, SCHEMA_VERSION, Subject, Verdict};

use super::*;
use crate::kind::oracle_consistency::Arm;
use crate::spec::{self, Condition};

/// What is wrong with a record beside what it has looked at.
const FLAWS: [&str; 12] = [
    "nothing",
    "crossed",
    "evidence",
    "word",
    "oracle",
    "source",
    "definition",
    "settings",
    "checkpoint",
    "threads",
    "spec",
    "inputs",
];

/// Of these a FAIL keeps its weight: what was seen under another spec was seen.
const UNBOUND: [&str; 2] = ["spec", "inputs"];

static MACHINE: LazyLock<Machine> = LazyLock::new(Machine::capture);

/// A record that differs from a good one in a few things.
#[derive(Debug, Clone)]
struct Run {
    minute: u8,
    failed: bool,
    cases: u64,
    seen: Vec<Condition>,
    flaw: &'static str,
}

fn pass(minute: u8) -> Run {
    Run { minute, failed: false, cases: 3, seen: Condition::ALL.to_vec(), flaw: "nothing" }
}

fn fail(minute: u8) -> Run {
    Run { failed: true, ..pass(minute) }
}

fn digest(digit: &str) -> String {
    digit.repeat(64)
}

fn identity() -> Identity {
    Identity {
        name: "o".into(),
        version: "1".into(),
        source_sha256: digest("1"),
        binary_sha256: digest("2"),
        build: BTreeMap::new(),
        flags: Vec::new(),
        cpu_features: vec!["AVX2".into()],
        settings: [("n_ctx", "4096"), ("kv_cache_tokens", "9")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
    }
}

fn spec(flaw: &str) -> Spec {
    let oracle = if flaw == "crossed" { "another" } else { "o" };
    let threads = if flaw == "threads" { 2 } else { 1 };
    let text = format!(
        "summary = \"x\"\noracle = \"{oracle}\"\ncheckpoint = \"c\"\ninputs = \"i\"\n\
         [generate]\nmax-tokens = 4\ntop-logprobs = 2\n[launch]\nthreads = {threads}\n\
         [check.oracle-consistency]\nrepeats = 2\nbatch = 8\nprefill-positions = 4\n"
    );
    spec::parse(&text, Path::new("it.toml")).unwrap()
}

fn sample(run: &Run) -> ConsistencySample {
    let arm = |condition| Arm {
        condition,
        flags: Vec::new(),
        answers: Vec::new(),
        at_once: None,
        cached_tokens: None,
    };
    let seen = run.seen.iter().map(|condition| arm(Some(*condition)));
    ConsistencySample {
        cases: (0..run.cases).map(|case| case.to_string()).collect(),
        prompts: Vec::new(),
        arms: std::iter::once(arm(None)).chain(seen).collect(),
        unseen: Vec::new(),
    }
}

fn testimony(run: &Run) -> Testimony {
    let mut identity = identity();
    let is = |flaw: &str| run.flaw == flaw;
    let of = |flaw: &str, good: &str| digest(if is(flaw) { "f" } else { good });
    identity.source_sha256 = of("source", "1");
    identity.settings.insert("kv_cache_tokens".into(), run.minute.to_string());
    if is("settings") {
        identity.settings.insert("n_ctx".into(), "2048".into());
    }
    let word = if run.failed { Word::Fail } else { Word::Pass };
    let record = Record {
        schema_version: SCHEMA_VERSION,
        id: format!("{run:?}"),
        gate: "g".into(),
        kinds: vec![NAME.into()],
        spec_sha256: of("spec", "3"),
        started_at: format!("2026-01-01T00:{:02}:00Z", run.minute).parse().unwrap(),
        duration_ms: 1,
        subject: Subject {
            name: "o".into(),
            version: "1".into(),
            commit: None,
            source_sha256: digest("1"),
            binary_sha256: digest("2"),
            profile: "none".into(),
            threads: 1,
            info: serde_json::Value::Null,
        },
        oracle: Some(OracleRef {
            name: if is("oracle") { "p".into() } else { "o".into() },
            source: OracleSource::Live,
            captured_at: None,
            golden_sha256: None,
            definition_sha256: Some(of("definition", "4")),
            identity: serde_json::to_value(&identity).unwrap(),
        }),
        checkpoint: Some(CheckpointRef { name: "c".into(), sha256: of("checkpoint", "5") }),
        inputs_sha256: Some(of("inputs", "6")),
        harness_sha256: None,
        machine: MACHINE.clone(),
        verdict: Verdict { word, rules: Vec::new(), reason: String::new() },
        compared: run.cases,
        measurements: vec![
            Measurement::count(Metric::SelfFlippedCases, u64::from(run.failed)),
            Measurement::count(Metric::SelfChoices, 4 * run.cases),
            Measurement::count(Metric::SelfFlips, u64::from(run.failed)),
            Measurement::new(Metric::SelfDifferenceMnats, Statistic::Max, 1, Some(0.5)),
        ],
        divergences: Vec::new(),
        evidence: Vec::new(),
        reproduce: String::new(),
        supersedes: None,
        resumed_answers: None,
        series: None,
    };
    let word = if is("word") { Word::NotEstablished } else { word };
    let account = Account { word, spec: spec(run.flaw), sample: sample(run) };
    let evidence = if is("evidence") { Err("it keeps none".into()) } else { Ok(account) };
    Testimony { record, evidence }
}

fn find(runs: &[Run]) -> Precedents {
    let comparison = Comparison {
        oracle: "o".into(),
        source_sha256: digest("1"),
        definition_sha256: Some(digest("4")),
        identity: identity(),
        checkpoint: "c".into(),
        checkpoint_sha256: digest("5"),
        launch: LaunchSpec::default(),
        cases: 3,
        tokens: 4,
    };
    let committed = [Committed {
        name: "g".into(),
        spec_sha256: digest("3"),
        inputs_sha256: Some(digest("6")),
        spec: spec("nothing"),
    }];
    let testimonies: Vec<Testimony> = runs.iter().map(testimony).collect();
    Precedents::find(&comparison, &committed, &testimonies)
}

/// Whether the contradiction is that of the run, and whether the measure is.
fn counts(found: &Precedents, run: &Run) -> (bool, bool) {
    let is =
        |one: &Option<Precedent>| one.as_ref().is_some_and(|it| it.record == format!("{run:?}"));
    (is(&found.contradiction), is(&found.measure))
}

#[test]
fn the_newest_record_is_the_measure_and_a_later_pass_of_all_that_failed_clears() {
    assert_eq!(find(&[]), Precedents { gates: vec!["g".into()], ..Precedents::default() });
    let failed = find(&[pass(0), fail(1)]);
    assert_eq!(counts(&failed, &fail(1)), (true, true));
    let cleared = find(&[fail(1), pass(2)]);
    assert_eq!(cleared.contradiction, None);
    assert_eq!(counts(&cleared, &pass(2)), (false, true));
}

#[test]
fn nothing_narrower_and_nothing_flawed_clears_a_failure() {
    let no_execution = Condition::ALL[..4].to_vec();
    let mut hiding = vec![
        Run { cases: 2, ..pass(2) },
        Run { seen: no_execution, ..pass(2) },
        // Earlier.
        pass(0),
    ];
    hiding.extend(FLAWS[1..].iter().map(|flaw| Run { flaw, ..pass(2) }));
    for run in hiding {
        let found = find(&[fail(1), run.clone()]);
        assert!(counts(&found, &fail(1)).0, "{run:?}");
        let alone = find(std::slice::from_ref(&run));
        let is_measure = run.flaw == "nothing" && run.cases == 3;
        assert_eq!(alone.measure.is_some(), is_measure, "{run:?}");
    }
}

#[test]
fn a_failure_under_another_spec_or_of_fewer_prompts_stands_and_measures_nothing() {
    let narrow = Run { cases: 1, ..fail(1) };
    let other_spec = Run { flaw: "spec", ..fail(1) };
    for run in [narrow, other_spec] {
        let found = find(&[pass(0), run.clone()]);
        assert_eq!(counts(&found, &run), (true, false), "{run:?}");
        assert_eq!(counts(&found, &pass(0)), (false, true), "{run:?}");
        assert_eq!(found.passed_over.len(), 1);
        assert_eq!(find(&[run, pass(2)]).contradiction, None);
    }
}

#[test]
fn what_does_not_count_is_told_with_its_reason_and_other_oracles_are_nobodys_business() {
    let whys: Vec<String> = FLAWS
        .iter()
        .flat_map(|flaw| find(&[Run { flaw, ..pass(1) }]).passed_over)
        .map(|passed_over| passed_over.why)
        .collect();
    insta::assert_snapshot!(whys.join("\n"), @r"
    its oracle was named by hand, not by the spec
    it keeps none
    it says NOT ESTABLISHED
    the oracle was built from another source
    the oracle was defined otherwise
    the oracle said otherwise of its n_ctx
    the oracle was launched with other threads, context or type
    it ran under another spec
    it ran on other inputs
    ");
}

#[test]
fn evidence_of_one_precedent_is_read_as_what_it_was() {
    let old = r#"{"record":"r","gate":"g","oracle":"o","word":"FAIL","cases":30,"flipped":1,"choices":7149,"flips":6,
        "largest_mnats":889.5}"#;
    let read: Precedents = serde_json::from_str(old).unwrap();
    assert_eq!(read.contradiction, read.measure);
    assert_eq!(read.measure.unwrap().flipped, 1);
    let whole = find(&[fail(1)]);
    let again: Precedents = serde_json::from_str(&serde_json::to_string(&whole).unwrap()).unwrap();
    assert_eq!(again, whole);
}

fn runs() -> impl Strategy<Value = Vec<Run>> {
    let seen = proptest::sample::subsequence(Condition::ALL.to_vec(), 1..=5);
    let flaw = prop_oneof![3 => Just("nothing"), 2 => proptest::sample::select(FLAWS.to_vec())];
    let run = (0u8..60, any::<bool>(), 1u64..5, seen, flaw)
        .prop_map(|(minute, failed, cases, seen, flaw)| Run { minute, failed, cases, seen, flaw });
    proptest::collection::vec(run, 0..7)
}

proptest! {
    #[test]
    fn no_record_but_a_later_wider_pass_hides_a_failure(runs in runs(), failure in 0u8..60) {
        let failure = fail(failure);
        let covers = |run: &Run| {
            !run.failed && run.flaw == "nothing" && run.minute >= failure.minute
                && run.cases >= failure.cases && run.seen.len() == Condition::ALL.len()
        };
        let others: Vec<Run> = runs.into_iter().filter(|run| !covers(run)).collect();
        let all: Vec<Run> = others.iter().cloned().chain([failure]).collect();
        prop_assert!(find(&all).contradiction.is_some());
    }

    #[test]
    fn a_flawed_record_changes_nothing_and_order_does_not_matter(runs in runs()) {
        let found = find(&runs);
        let mut turned = runs.clone();
        turned.reverse();
        let counting = |found: &Precedents| (found.contradiction.clone(), found.measure.clone());
        prop_assert_eq!(counting(&found), counting(&find(&turned)));
        let is_flawed = |run: &Run| {
            run.flaw != "nothing" && !(run.failed && UNBOUND.contains(&run.flaw))
        };
        let good: Vec<Run> = runs.iter().filter(|run| !is_flawed(run)).cloned().collect();
        prop_assert_eq!(counting(&found), counting(&find(&good)));
    }

    #[test]
    fn a_measure_is_wide_and_committed(runs in runs()) {
        if let Some(measure) = find(&runs).measure {
            prop_assert!(measure.cases >= 3);
            let is_it = |run: &&Run| format!("{run:?}") == measure.record;
            prop_assert_eq!(runs.iter().find(is_it).unwrap().flaw, "nothing");
        }
    }
}
