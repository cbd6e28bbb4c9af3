//! The word of a track follows from the records, in the order of the discipline, and never from what is absent.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use records::gap::{
    Class, Mismatch, OpenGaps, Present, Track, Word, check, derive, mismatches, passing,
    render_json, render_markdown,
};
use records::{
    CheckpointRef, Evidence, Machine, Measurement, Metric, OracleRef, OracleSource, Record, Series,
    Statistic, Subject, Timestamp, Verdict, VerdictWord,
};
use serde_json::json;

#[path = "gaps/lapse.rs"]
mod lapse;

const NOW: &str = "present-source";
const SPEC: &str = "present-spec";
const PIN: &str = "present-pin";
const DEFINITION: &str = "present-definition";
const JUDGE: &str = "present-harness";
const GOLDEN: &str = "present-golden";

fn present() -> Present {
    let specs = ["tokens", "speed"].map(|gate| (gate.to_owned(), SPEC.to_owned()));
    Present {
        source_sha256: NOW.into(),
        harness_sha256: JUDGE.into(),
        specs: specs.into(),
        pins: BTreeMap::from([("llama-cpp".into(), PIN.into())]),
        definitions: BTreeMap::from([("llama-cpp".into(), DEFINITION.into())]),
        checkpoints: BTreeMap::from([("tiny".into(), PIN.into())]),
        inputs: BTreeMap::new(),
        goldens: BTreeMap::from([("tokens".into(), GOLDEN.into())]),
    }
}

/// A G track that owes no number.
fn track(gates: &[&str]) -> Track {
    Track {
        id: "t".into(),
        row: 1,
        class: Class::G,
        title: "a track".into(),
        about: "about".into(),
        gates: gates.iter().map(|&gate| gate.to_owned()).collect(),
        planned: vec![],
        missing: None,
        waits_for: None,
        hardware: None,
        twin: None,
        no_number_owed: Some("tokens only".into()),
        word: None,
        reason: None,
        foreign_claim: None,
    }
}

fn owing_a_number(gates: &[&str]) -> Track {
    Track { no_number_owed: None, ..track(gates) }
}

fn machine() -> Machine {
    Machine {
        cpu_model: None,
        cpu_features: vec![],
        physical_cores: None,
        logical_cores: None,
        memory_bytes: None,
        memory_available_bytes: None,
        kernel: None,
        os: None,
        boot_id: None,
        load: None,
        cpu_pressure_percent: None,
    }
}

/// The record of `gate` at second `at`, of the present source, spec and pin.
fn record(gate: &str, at: i64, word: VerdictWord) -> Record {
    let rules = if word == VerdictWord::Void { vec!["V-PIN".into()] } else { vec![] };
    Record {
        schema_version: 1,
        id: format!("{gate}-{at}"),
        gate: gate.into(),
        kinds: vec![],
        spec_sha256: SPEC.into(),
        started_at: Timestamp::from_second(at).unwrap(),
        duration_ms: 1,
        subject: Subject {
            name: "plumb".into(),
            version: "0".into(),
            commit: None,
            source_sha256: NOW.into(),
            binary_sha256: String::new(),
            profile: "own".into(),
            threads: 1,
            info: json!({}),
        },
        oracle: Some(OracleRef {
            name: "llama-cpp".into(),
            source: OracleSource::Golden,
            captured_at: None,
            golden_sha256: (gate == "tokens").then(|| GOLDEN.into()),
            definition_sha256: Some(DEFINITION.into()),
            identity: json!({"source_sha256": PIN}),
        }),
        checkpoint: None,
        harness_sha256: Some(JUDGE.into()),
        machine: machine(),
        verdict: Verdict { word, rules, reason: "because".into() },
        compared: 24,
        measurements: vec![],
        divergences: vec![],
        evidence: vec![Evidence {
            name: "spec.toml".into(),
            path: "evidence/spec.toml".into(),
            sha256: String::new(),
            bytes: 1,
            external: false,
        }],
        reproduce: String::new(),
        inputs_sha256: None,
        supersedes: None,
        resumed_answers: None,
        series: None,
    }
}

fn ratio(value: Option<f64>, n: u64, band: Option<f64>) -> Vec<Measurement> {
    vec![
        Measurement::new(Metric::Ratio, Statistic::Median, n, value),
        Measurement::new(Metric::NullBand, Statistic::Max, n, band),
    ]
}

fn speed(value: f64, n: u64, band: Option<f64>) -> Record {
    Record { measurements: ratio(Some(value), n, band), ..record("speed", 20, VerdictWord::Pass) }
}

fn old(mut record: Record) -> Record {
    record.subject.source_sha256 = "other".into();
    record
}

fn word(track: &Track, records: &[Record]) -> Word {
    derive(track, records, &present()).word
}

use VerdictWord::{Fail, NotEstablished, Pass, Skipped, Void};

/// Each step of the order, by hand.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn the_order_of_the_words() {
    let tokens = || track(&["tokens"]);
    let number = || owing_a_number(&["tokens", "speed"]);
    let waits = |mut track: Track| {
        track.gates.clear();
        track.planned = vec!["later".into()];
        track.waits_for = Some("a GPU".into());
        track
    };
    let pass = || record("tokens", 10, Pass);
    let clock = |mut record: Record| {
        record.verdict.rules = vec!["V-CLOCK-OFF".into()];
        record
    };
    let other_pin = |mut record: Record| {
        record.oracle.as_mut().unwrap().identity = json!({"source_sha256": "older"});
        record
    };
    let other_spec = |record: Record| Record { spec_sha256: "other".into(), ..record };
    let supersedes = |id: &str, record: Record| Record { supersedes: Some(id.into()), ..record };
    let cases: Vec<(&str, Track, Vec<Record>, Word)> = vec![
        ("1 nothing run, no number owed", tokens(), vec![], Word::NoNumberOwed),
        ("3 a gate that could run did not", number(), vec![], Word::Owed),
        ("3 waits for something named", waits(number()), vec![], Word::Pending),
        (
            "3 waits for nothing named",
            Track { waits_for: None, ..waits(number()) },
            vec![],
            Word::NotMeasured,
        ),
        ("3 records of other gates do not count", number(), vec![record("x", 1, Pass)], Word::Owed),
        ("4 a rule fired", tokens(), vec![record("tokens", 1, Void)], Word::Void),
        (
            "4 only a clock rule fired",
            number(),
            vec![clock(record("speed", 1, Void))],
            Word::Discard,
        ),
        (
            "4 a clock rule beside a failure",
            number(),
            vec![clock(record("speed", 1, Void)), record("tokens", 1, Fail)],
            Word::Void,
        ),
        ("5 correctness failed", tokens(), vec![record("tokens", 1, Fail)], Word::Fail),
        (
            "5 correctness failed, a number stands beside",
            number(),
            vec![record("tokens", 1, Fail), speed(2.0, 3, Some(0.01))],
            Word::Void,
        ),
        (
            "5 failed and passed at one source",
            tokens(),
            vec![record("tokens", 1, Fail), record("tokens", 2, Pass)],
            Word::Fail,
        ),
        (
            "5 the failure is superseded",
            tokens(),
            vec![record("tokens", 1, Fail), supersedes("tokens-1", record("tokens", 2, Pass))],
            Word::Pass,
        ),
        (
            "5 failed at other sources, passes now",
            tokens(),
            vec![old(record("tokens", 1, Fail)), record("tokens", 2, Pass)],
            Word::Pass,
        ),
        (
            "5 passed long ago, failed last at other sources",
            tokens(),
            vec![old(record("tokens", 1, Pass)), old(record("tokens", 2, Fail))],
            Word::Fail,
        ),
        ("5 skipped", tokens(), vec![record("tokens", 1, Skipped)], Word::Unverified),
        (
            "5 a skip does not undo a pass",
            tokens(),
            vec![record("tokens", 1, Pass), record("tokens", 2, Skipped)],
            Word::Pass,
        ),
        ("5 passed at other sources", tokens(), vec![old(pass())], Word::Unverified),
        ("5 passed under another spec", tokens(), vec![other_spec(pass())], Word::Unverified),
        ("6 the pin moved", tokens(), vec![other_pin(pass())], Word::Superseded),
        (
            "7 could not say",
            tokens(),
            vec![record("tokens", 1, NotEstablished)],
            Word::NotEstablished,
        ),
        ("8 no null band", number(), vec![pass(), speed(1.2, 3, None)], Word::Directional),
        ("9 two repetitions", number(), vec![pass(), speed(1.2, 2, Some(0.0))], Word::Provisional),
        ("9 a gate did not run", number(), vec![pass()], Word::Partial),
        ("9 no ratio at all", owing_a_number(&["tokens"]), vec![pass()], Word::Partial),
        (
            "9 something is missing",
            Track { missing: Some("Q4_K_M".into()), ..tokens() },
            vec![pass()],
            Word::Partial,
        ),
        (
            "9 a gate is planned",
            Track { planned: vec!["later".into()], ..tokens() },
            vec![pass()],
            Word::Partial,
        ),
        ("10 all of it, no number owed", tokens(), vec![pass()], Word::Pass),
        ("10 inside the band", number(), vec![pass(), speed(0.995, 3, Some(0.01))], Word::Tie),
        ("10 above the floor", number(), vec![pass(), speed(1.2, 3, Some(0.01))], Word::Met),
        ("10 0.98 is a gap", number(), vec![pass(), speed(0.98, 3, Some(0.01))], Word::NotMet),
        (
            "10 the gate says below, whatever the ratio",
            number(),
            vec![
                pass(),
                Record {
                    verdict: Verdict {
                        word: Fail,
                        rules: vec![],
                        reason: "a pair reversed".into(),
                    },
                    ..speed(1.2, 3, Some(0.01))
                },
            ],
            Word::NotMet,
        ),
    ];
    let mut compared = 0;
    for (name, track, records, expected) in cases {
        assert_eq!(word(&track, &records), expected, "{name}");
        let mut reversed = records.clone();
        reversed.reverse();
        assert_eq!(word(&track, &reversed), expected, "{name}, in another order");
        compared += 1;
    }
    assert_eq!(compared, 31);
}

#[test]
fn a_twin_is_part_of_its_track_at_most() {
    let twin = Track {
        class: Class::S,
        twin: Some("small".into()),
        hardware: Some("GB10".into()),
        ..track(&["tokens"])
    };
    let cell = derive(&twin, &[record("tokens", 1, Pass)], &present());
    assert_eq!(cell.word, Word::Partial);
    assert_eq!(cell.why, "twin (small): PASS tokens PASS (24 compared); original PENDING (GB10)");
    assert_eq!(word(&twin, &[record("tokens", 1, Fail)]), Word::Fail);
}

#[test]
fn a_ratio_that_was_not_measured_is_no_ratio() {
    let unmeasured =
        Record { measurements: ratio(None, 0, Some(0.01)), ..record("speed", 2, Pass) };
    let cell =
        word(&owing_a_number(&["tokens", "speed"]), &[record("tokens", 1, Pass), unmeasured]);
    assert!(!cell.is_shown(), "{cell}");
}

fn any_word() -> impl Strategy<Value = VerdictWord> {
    prop::sample::select(vec![Pass, Fail, NotEstablished, Void, Skipped])
}

prop_compose! {
    fn any_record()(
        gate in prop::sample::select(vec!["tokens", "speed"]),
        at in 0..50i64,
        word in any_word(),
        is_old in any::<bool>(),
        other_spec in any::<bool>(),
        value in prop::option::of(0.5..1.5f64),
        n in 0..5u64,
        band in prop::option::of(0.0..0.1f64),
        has_ratio in any::<bool>(),
        pin in prop::sample::select(vec![PIN, "older"]),
    ) -> Record {
        let mut record = record(gate, at, word);
        if is_old { record = old(record); }
        if other_spec { record.spec_sha256 = "other".into(); }
        if has_ratio { record.measurements = ratio(value, n, band); }
        record.oracle.as_mut().unwrap().identity = json!({"source_sha256": pin});
        record
    }
}

prop_compose! {
    fn any_track()(
        gates in prop::sample::subsequence(vec!["tokens", "speed", "unbuilt"], 1..=3),
        planned in any::<bool>(),
        missing in any::<bool>(),
        number in any::<bool>(),
        waits in any::<bool>(),
        twin in any::<bool>(),
    ) -> Track {
        let mut track = if number { owing_a_number(&gates) } else { track(&gates) };
        if planned { track.planned = vec!["later".into()]; }
        if missing { track.missing = Some("a part".into()); }
        if waits { track.waits_for = Some("a GPU".into()); }
        if twin {
            track.class = Class::S;
            track.twin = Some("small".into());
            track.hardware = Some("GB10".into());
        }
        track
    }
}

/// Whether a record of this gate passed at the present, judged without the code under test.
fn passed_now(records: &[Record], gate: &str) -> bool {
    records.iter().any(|record| {
        record.gate == gate
            && record.verdict.word == Pass
            && record.subject.source_sha256 == NOW
            && record.spec_sha256 == SPEC
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Nothing missing, planned, skipped, old or unpinned ever reads as shown.
    #[test]
    fn no_path_from_missing_to_shown(
        track in any_track(), records in prop::collection::vec(any_record(), 0..8),
    ) {
        let cell = derive(&track, &records, &present());
        prop_assert!(!cell.why.is_empty() && !cell.next.is_empty());
        if cell.word.is_shown() {
            prop_assert_eq!(track.class, Class::G);
            prop_assert!(track.planned.is_empty() && track.missing.is_none());
            for gate in &track.gates {
                prop_assert!(passed_now(&records, gate), "{} rests on {gate}", cell.word);
            }
        }
        if matches!(cell.word, Word::Met | Word::Tie) {
            let measured = |record: &Record| record.measurements.iter().any(|m| {
                m.metric == Metric::Ratio && m.value.is_some() && m.n >= 3
            });
            prop_assert!(records.iter().any(measured));
        }
    }

    /// A comparison that fails at the present is never better than VOID or FAIL, whatever stands beside it.
    #[test]
    fn a_failure_shows(
        track in any_track(), mut records in prop::collection::vec(any_record(), 0..8), at in 0..50i64,
    ) {
        records.push(Record { id: "the-failure".into(), ..record("tokens", at, Fail) });
        if track.gates.iter().any(|gate| gate == "tokens") {
            let word = derive(&track, &records, &present()).word;
            prop_assert!(matches!(word, Word::Void | Word::Fail), "{}", word);
        }
    }

    /// What was named by hand decides nothing, whatever it says and whatever stands beside it: the row reads as if it were not
    /// there.
    #[test]
    fn what_was_named_by_hand_decides_nothing(
        track in any_track(),
        records in prop::collection::vec(any_record(), 0..6),
        by_hand in prop::collection::vec((any_record(), any::<bool>(), 0..7_usize), 1..6),
    ) {
        let mut all = records.clone();
        for (mut record, is_crossed, place) in by_hand {
            record.subject.info = if is_crossed {
                json!({ "compared_with": "--oracle" })
            } else {
                json!({ "found_by": "--plumb" })
            };
            record.supersedes = records.get(place).map(|corrected| corrected.id.clone());
            record.id = format!("by-hand-{place}-{}", all.len());
            all.insert(place.min(all.len()), record);
        }
        prop_assert_eq!(derive(&track, &all, &present()), derive(&track, &records, &present()));
    }

    /// Skips alone, however many, show nothing.
    #[test]
    fn a_skip_feeds_nothing(
        track in any_track(), mut records in prop::collection::vec(any_record(), 0..8),
    ) {
        for record in &mut records { record.verdict.word = Skipped; }
        let word = derive(&track, &records, &present()).word;
        prop_assert!(matches!(
            word,
            Word::Unverified | Word::Owed | Word::Pending | Word::NotMeasured | Word::NoNumberOwed
        ), "{}", word);
    }
}

#[test]
fn failing_gates_are_the_listed_ones() {
    let gaps = |known: &[&str], tracks| OpenGaps {
        known_failing: known.iter().map(|&gate| gate.to_owned()).collect(),
        tracks,
    };
    let found = |gaps: OpenGaps, records: &[Record]| mismatches(&gaps, records, &present());
    let fail = [record("tokens", 1, Fail)];
    let pass = [record("tokens", 1, Pass)];
    assert_eq!(found(gaps(&[], vec![]), &pass), []);
    assert_eq!(found(gaps(&["tokens"], vec![]), &fail), []);
    let gate = || "tokens".to_owned();
    let record = || "tokens-1".to_owned();
    assert_eq!(
        found(gaps(&[], vec![]), &fail),
        [Mismatch::Unlisted { gate: gate(), record: record() }]
    );
    assert_eq!(
        found(gaps(&["tokens"], vec![]), &pass),
        [Mismatch::Stale { gate: gate(), record: record() }]
    );
    assert_eq!(found(gaps(&["gone"], vec![]), &[]), [Mismatch::Unknown { gate: "gone".into() }]);
    let planned = Track { planned: vec![gate()], ..track(&["absent"]) };
    assert_eq!(
        found(gaps(&[], vec![planned]), &[]),
        [
            Mismatch::NotBuilt { track: "t".into(), gate: "absent".into() },
            Mismatch::Built { track: "t".into(), gate: gate() },
        ]
    );
}

/// The file of this repository.
fn ours() -> OpenGaps {
    OpenGaps::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../open-gaps.toml")).unwrap()
}

#[test]
fn our_tracks_are_75_rows_in_order() {
    let gaps = ours();
    assert_eq!(gaps.tracks.iter().map(|t| t.row).collect::<Vec<_>>(), (1..=75).collect::<Vec<_>>());
    let count = |class| gaps.tracks.iter().filter(|track| track.class == class).count();
    assert_eq!((count(Class::G), count(Class::S), count(Class::X)), (17, 48, 10));
}

#[test]
fn the_page_has_a_row_a_track_and_capped_cells() {
    let page = render_markdown(&ours(), &[], &present());
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(rows.len(), 75);
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        assert_eq!(cells.len(), 3, "{row}");
        assert!(cells[0].trim().starts_with(&format!("{}. ", index + 1)), "{row}");
        for cell in cells {
            assert!(cell.trim().chars().count() <= 220 && !cell.trim().is_empty(), "{cell}");
        }
    }
    let json: serde_json::Value =
        serde_json::from_str(&render_json(&ours(), &[], &present())).unwrap();
    let tracks = json["tracks"].as_array().unwrap();
    assert_eq!(tracks.len(), 75);
    for track in tracks {
        let keys: Vec<&str> = track.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["id", "row", "word", "why", "gates", "next"]);
    }
}

#[test]
fn a_stale_page_is_named_by_its_first_row() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("docs/open-gaps.md");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    let gaps = ours();
    let page = render_markdown(&gaps, &[], &present());
    std::fs::write(&path, &page).unwrap();
    check(root.path(), &gaps, &[], &present()).unwrap();
    std::fs::write(&path, page.replace("| 7. Grouped", "| 7. grouped")).unwrap();
    let error = check(root.path(), &gaps, &[], &present()).unwrap_err().to_string();
    assert!(error.contains("found:    | 7. grouped"), "{error}");
    std::fs::write(&path, page.trim_end()).unwrap();
    assert!(check(root.path(), &gaps, &[], &present()).is_err());
    std::fs::remove_file(&path).unwrap();
    assert!(check(root.path(), &gaps, &[], &present()).is_err());
}

/// The messages, as a person sees them.
#[test]
fn a_bad_file_is_named_with_its_line() {
    let good = "known-failing = []\n\n[[track]]\nid = \"a\"\nrow = 1\nclass = \"G\"\ntitle = \"t\"\nabout = \"a\"\nplanned = [\"p\"]\n";
    let cases = [
        good.to_owned(),
        good.replace("title", "titel"),
        good.replace("\"G\"", "\"Q\""),
        good.replace("\"G\"", "\"X\""),
        good.replace("\"G\"", "\"S\""),
        good.replace("row = 1", "row = 76"),
        good.replace("planned = [\"p\"]", "word = \"MET\"\nreason = \"r\"")
            .replace("\"G\"", "\"X\""),
        good.replace("planned = [\"p\"]\n", ""),
        format!("{good}\n{}", good.split_once("\n\n").unwrap().1),
    ];
    let messages: Vec<String> = cases
        .iter()
        .map(|text| OpenGaps::parse(Path::new("open-gaps.toml"), text).unwrap_err().to_string())
        .collect();
    insta::assert_snapshot!(
        messages
            .join("\n---\n")
            .replace(&format!("{:?}", (2..=75).collect::<Vec<u32>>()), "[2, ..., 75]",)
    );
}

/// What a grid takes for a certificate is what the page takes for a pass, and nothing else.
#[test]
fn a_gate_passes_for_others_as_it_does_on_the_page() {
    let pass = || record("tokens", 5, VerdictWord::Pass);
    let named = |key: &str, value: &str| {
        let mut record = pass();
        record.subject.info = json!({ key: value });
        record
    };
    let gives = |records: &[Record]| passing("tokens", records, &present()).map(|r| r.id.clone());
    assert_eq!(gives(&[pass()]), Ok("tokens-5".to_owned()));
    let mended = Record { supersedes: Some("tokens-1".into()), ..pass() };
    assert!(gives(&[record("tokens", 1, VerdictWord::Fail), mended]).is_ok());
    for (records, why) in [
        (vec![], "not run"),
        (vec![named("found_by", "--plumb")], "not run"),
        (vec![named("compared_with", "--oracle")], "not run"),
        (vec![Record { spec_sha256: "looser".into(), ..pass() }], "another spec"),
        (vec![record("tokens", 1, VerdictWord::Fail), pass()], "FAIL (tokens-1)"),
        (vec![pass(), record("tokens", 9, VerdictWord::Void)], "VOID by V-PIN (tokens-9)"),
    ] {
        let found = gives(&records).unwrap_err();
        assert!(found.contains(why), "{found}");
    }
    assert!(passing("unknown", &[pass()], &present()).is_err());
}
