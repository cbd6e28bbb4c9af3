//! The store keeps what it is given, shows nothing half-done, and names any file that changed.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use records::store::read_record;
use records::{
    CheckpointRef, Machine, Measurement, Metric, OracleRef, OracleSource, Record, Statistic, Store,
    StoreError, Subject, Timestamp, Verdict, VerdictWord,
};
use serde_json::{Value, json};

#[path = "store/external.rs"]
mod external;
#[path = "store/writers.rs"]
mod writers;

const DIGEST: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn record(gate: &str) -> Record {
    Record {
        schema_version: 1,
        id: String::new(),
        gate: gate.into(),
        kinds: vec!["token-exact".into()],
        spec_sha256: DIGEST.into(),
        started_at: Timestamp::UNIX_EPOCH,
        duration_ms: 1234,
        subject: Subject {
            name: "plumb".into(),
            version: "0.1.0".into(),
            commit: None,
            source_sha256: DIGEST.into(),
            binary_sha256: DIGEST.into(),
            profile: "llamacpp-cpu".into(),
            threads: 1,
            info: json!({"isa": ["avx2"], "kernels": {"q4_1": "avx2"}}),
        },
        oracle: Some(OracleRef {
            name: "llama-cpp".into(),
            source: OracleSource::Golden,
            captured_at: Some(Timestamp::UNIX_EPOCH),
            golden_sha256: Some(DIGEST.into()),
            definition_sha256: None,
            identity: json!({"source_sha256": DIGEST}),
        }),
        checkpoint: Some(CheckpointRef { name: "smollm2-135m".into(), sha256: DIGEST.into() }),
        harness_sha256: Some(DIGEST.into()),
        machine: Machine::capture(),
        verdict: Verdict { word: VerdictWord::Pass, rules: vec![], reason: "24/24 exact".into() },
        compared: 24,
        measurements: vec![Measurement::count(Metric::ExactCases, 24)],
        divergences: vec![json!({"id": "p07", "position": 3, "gap_mnats": 12.25})],
        evidence: vec![],
        reproduce: "cargo gate run smollm2-greedy".into(),
        inputs_sha256: None,
        supersedes: None,
        resumed_answers: None,
        series: None,
    }
}

fn with_golden(sha256: &str) -> Record {
    let mut record = record("g");
    record.oracle.as_mut().unwrap().golden_sha256 = Some(sha256.into());
    record
}

/// Names of all files below a folder, hidden ones too.
fn names(dir: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names.extend(self::names(&path));
        } else {
            names.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    names
}

#[test]
fn keeps_a_record_and_its_evidence() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut draft = store.begin("smollm2-greedy").unwrap();
    assert_eq!(store.read_all().unwrap(), [], "an open draft is not a record");
    let entry = draft.evidence("subject.jsonl", b"{}\n").unwrap();
    let again = draft.evidence("oracle.jsonl", b"{}\n").unwrap();
    assert_eq!(entry.path, again.path, "the same bytes are kept once");
    let started_at = draft.started_at();
    let path = draft.commit(record("smollm2-greedy")).unwrap();

    let kept = store.read_all().unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].started_at, started_at);
    assert_eq!(kept[0].evidence, [entry.clone(), again]);
    assert_eq!(format!("{}.json", kept[0].id), path.file_name().unwrap().to_str().unwrap());
    let expected = Record {
        id: kept[0].id.clone(),
        started_at,
        evidence: kept[0].evidence.clone(),
        machine: kept[0].machine.clone(),
        ..record("smollm2-greedy")
    };
    assert_eq!(kept[0], expected);
    assert_eq!(store.evidence(&entry).unwrap(), b"{}\n");
    assert_eq!(names(dir.path()).len(), 2, "one run, one evidence file, nothing else");
    assert!(store.verify().unwrap().is_empty());
}

#[test]
fn a_dropped_draft_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut draft = store.begin("smollm2-greedy").unwrap();
    draft.evidence("a.txt", b"a").unwrap();
    assert_eq!(names(dir.path()).len(), 2);
    drop(draft);
    assert_eq!(names(dir.path()), Vec::<String>::new());
}

#[test]
fn refuses_what_may_not_be_kept_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let commit = |record: Record| store.begin("g").unwrap().commit(record).unwrap_err();
    let nan = Measurement::new(Metric::TtftMs, Statistic::Median, 3, Some(f64::NAN));
    let word = |word, compared| Record {
        verdict: Verdict { word, rules: vec![], reason: String::new() },
        compared,
        ..record("g")
    };
    let mut refused = 0;
    for broken in [
        Record { measurements: vec![nan], ..record("g") },
        word(VerdictWord::Pass, 0),
        word(VerdictWord::Fail, 0),
        word(VerdictWord::Skipped, 1),
        word(VerdictWord::Void, 1),
        Record { spec_sha256: "abc".into(), ..record("g") },
        Record { harness_sha256: Some("abc".into()), ..record("g") },
        with_golden("abc"),
    ] {
        assert!(matches!(commit(broken), StoreError::Invalid { .. }));
        refused += 1;
    }
    assert_eq!(refused, 8);
    assert!(matches!(commit(record("other")), StoreError::OtherGate { .. }));
    assert!(matches!(store.begin("../x").unwrap_err(), StoreError::Invalid { .. }));
    assert!(matches!(
        store.begin("g").unwrap().evidence("../x", b"").unwrap_err(),
        StoreError::EvidenceName { .. }
    ));
    assert_eq!(names(dir.path()), Vec::<String>::new());
}

#[test]
fn two_hundred_writers_at_once_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let store = store.clone();
            scope.spawn(move || {
                for run in 0..25 {
                    let mut draft = store.begin("g").unwrap();
                    draft.evidence("same.txt", b"the same bytes from everyone").unwrap();
                    let duration_ms = worker * 25 + run;
                    draft.commit(Record { duration_ms, ..record("g") }).unwrap();
                }
            });
        }
    });
    let mut seen: Vec<u64> = store.read_all().unwrap().iter().map(|r| r.duration_ms).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..200).collect::<Vec<_>>());
    assert_eq!(names(dir.path()).len(), 201);
}

#[test]
fn another_schema_version_is_named_before_its_fields() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("20260101T000000Z-g-0123456789ab.json");
    for (text, found) in [
        (r#"{"schema_version": 2, "new": 1}"#, "2"),
        (r#"{"schema_version": "1"}"#, "\"1\""),
        ("{}", "missing"),
    ] {
        fs::write(&path, text).unwrap();
        let error = read_record(&path).unwrap_err();
        assert!(
            matches!(&error, StoreError::SchemaVersion { found: f, .. } if f == found),
            "{error}"
        );
    }
}

/// Writes a record as another program would have, under the name that fits its content.
fn written(dir: &Path, change: impl Fn(&mut Value)) -> PathBuf {
    let mut value = serde_json::to_value(record("g")).unwrap();
    change(&mut value);
    value["id"] = json!("");
    let mut without = value.clone();
    without.as_object_mut().unwrap().shift_remove("id");
    let text = records::canonical::canonical_json(&without).unwrap();
    let id = format!("19700101T000000Z-g-{}", &records::sha256_hex(text.as_bytes())[..12]);
    value["id"] = json!(id);
    let path = dir.join(format!("{id}.json"));
    fs::write(&path, records::canonical::canonical_json(&value).unwrap()).unwrap();
    path
}

/// A record of a later program is read, what is new in it is kept apart, and its hash is that of the whole.
#[test]
fn what_a_later_program_wrote_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let later = json!({"metric": "watts", "unit": "W", "value": 71.5, "n": 3, "statistic": "mean"});
    let path = written(&dir.path().join("runs"), |value| {
        value["extra"] = json!({"a.b/c": 1});
        value["subject"]["board"] = json!("H200");
        value["oracle"]["weather"] = json!(null);
        value["machine"]["gpus"] = json!([1, 2]);
        value["measurements"].as_array_mut().unwrap().insert(0, later.clone());
        value["measurements"][1]["quality"] = json!("good");
        value["a.b"] = json!({"x": 2});
    });
    let kept = store.read_kept().unwrap().remove(0);
    let id = path.file_stem().unwrap().to_str().unwrap();
    assert_eq!(kept.record, Record { id: id.to_owned(), ..kept.record.clone() });
    assert_eq!(kept.record.measurements, record("g").measurements);
    let unknown: Vec<(&str, Value)> =
        kept.unknown.iter().map(|(path, value)| (path.as_str(), value.clone())).collect();
    assert_eq!(
        unknown,
        [
            ("a.b", json!({"x": 2})),
            ("extra", json!({"a.b/c": 1})),
            ("machine.gpus", json!([1, 2])),
            ("measurements.0", later),
            ("measurements.1.quality", json!("good")),
            ("oracle.weather", json!(null)),
            ("subject.board", json!("H200")),
        ]
    );
    assert!(store.text(id).unwrap().contains("H200"));
    assert!(store.verify().unwrap().is_empty());

    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("H200", "H100")).unwrap();
    let error = read_record(&path).unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error}");
}

/// A known field of another type is not a field more.
#[test]
fn a_known_field_of_another_type_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path(), |value| value["compared"] = json!("many"));
    let error = read_record(&path).unwrap_err();
    assert!(matches!(error, StoreError::Schema { .. }), "{error}");
}

/// Records are never edited, so one that is older than a field is read without it.
#[test]
fn a_record_older_than_its_fields_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path(), |value| {
        value.as_object_mut().unwrap().shift_remove("harness_sha256").unwrap();
        value.as_object_mut().unwrap().shift_remove("inputs_sha256").unwrap();
        value["oracle"].as_object_mut().unwrap().shift_remove("golden_sha256").unwrap();
    });
    let read = read_record(&path).unwrap();
    assert_eq!((read.harness_sha256, read.inputs_sha256), (None, None));
    assert_eq!(read.oracle.unwrap().golden_sha256, None);
}

#[test]
fn changed_evidence_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut draft = store.begin("g").unwrap();
    let entry = draft.evidence("a.txt", b"first").unwrap();
    draft.commit(record("g")).unwrap();
    fs::write(dir.path().join(&entry.path), b"First").unwrap();
    let defects = store.verify().unwrap();
    assert_eq!(defects.len(), 1);
    assert!(defects[0].to_string().contains(&entry.sha256), "{}", defects[0]);
    assert!(store.evidence(&entry).is_err());
}

fn stored(dir: &Path) -> (PathBuf, Vec<u8>) {
    let store = Store::open(dir).unwrap();
    let path = store.begin("g").unwrap().commit(record("g")).unwrap();
    let bytes = fs::read(&path).unwrap();
    (path, bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Any single flipped bit is found, and the error names the file.
    #[test]
    fn a_flipped_bit_is_named(position in any::<prop::sample::Index>(), bit in 0..8u8) {
        let dir = tempfile::tempdir().unwrap();
        let (path, mut bytes) = stored(dir.path());
        let position = position.index(bytes.len());
        bytes[position] ^= 1 << bit;
        fs::write(&path, &bytes).unwrap();
        let error = read_record(&path).unwrap_err();
        prop_assert!(error.to_string().contains(path.to_str().unwrap()), "{}", error);
    }

    /// A file cut off anywhere is found, and the error names the file.
    #[test]
    fn a_torn_file_is_named(length in any::<prop::sample::Index>()) {
        let dir = tempfile::tempdir().unwrap();
        let (path, bytes) = stored(dir.path());
        fs::write(&path, &bytes[..length.index(bytes.len())]).unwrap();
        let error = read_record(&path).unwrap_err();
        prop_assert!(error.to_string().contains(path.to_str().unwrap()), "{}", error);
    }

    /// What is read is what was written, to the last bit of each number.
    #[test]
    fn round_trip(
        bits in any::<u64>(), n in 1..u64::MAX, reason in ".{0,80}", text in ".{0,40}",
        rules in prop::collection::vec("V-[A-Z]{3,8}", 1..4),
    ) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let written = Record {
            measurements: vec![Measurement::new(Metric::Ratio, Statistic::Median, n, Some(value))],
            verdict: Verdict { word: VerdictWord::Void, rules, reason },
            divergences: vec![json!({"text": text, "gap": value})],
            ..record("g")
        };
        store.begin("g").unwrap().commit(written.clone()).unwrap();
        let read = store.read_all().unwrap().remove(0);
        prop_assert_eq!(read.measurements[0].value.unwrap().to_bits(), bits);
        let expected = Record { id: read.id.clone(), started_at: read.started_at, ..written };
        prop_assert_eq!(read, expected);
    }
}

/// A ratio and a rule exclude each other, and an interval holds its estimate.
#[test]
fn a_cell_with_a_rule_or_a_crooked_interval_keeps_no_ratio() {
    use records::record::RecordError;
    use records::{CellVerdict, RatioInterval, Series};

    let cell = |ratio: Option<(f64, f64, f64)>, rules: &[&str]| CellVerdict {
        cell: "c8".into(),
        concurrency: 8,
        subject: "plumb".into(),
        reference: "llama-cpp".into(),
        metric: "tpot_ms_p50".into(),
        word: "VOID".into(),
        ratio: ratio.map(|(low, estimate, high)| RatioInterval { estimate, low, high }),
        medians: None,
        answers: None,
        rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
        reason: "because".into(),
    };
    let verdict = |cell: CellVerdict| {
        let (arms, plan_sha256) = (std::collections::BTreeMap::new(), DIGEST.to_owned());
        let series = Some(Series {
            plan_sha256,
            arms,
            machines: vec![],
            pairs: 10,
            is_as_declared: true,
            cells: vec![cell],
        });
        Record { series, ..record("cpu-sweep") }.validate()
    };
    assert_eq!(verdict(cell(Some((0.9, 1.0, 1.1)), &[])), Ok(()));
    assert_eq!(verdict(cell(None, &["V-NULL"])), Ok(()));
    let beside = verdict(cell(Some((0.9, 1.0, 1.1)), &["V-NULL"]));
    assert!(matches!(beside, Err(RecordError::RatioBesideRules { .. })), "{beside:?}");
    for crooked in [
        (1.0, 0.9, 1.1),
        (0.9, 1.2, 1.1),
        (0.0, 0.5, 1.0),
        (0.9, f64::NAN, 1.1),
        (0.9, 1.0, f64::INFINITY),
    ] {
        let found = verdict(cell(Some(crooked), &[]));
        assert!(matches!(found, Err(RecordError::Ratio { .. })), "{crooked:?}: {found:?}");
    }
}
