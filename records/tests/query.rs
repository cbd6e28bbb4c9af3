//! SQL over the store, and raw samples that come back as they were.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[path = "pages/synthetic.rs"]
#[expect(dead_code, reason = "shared with the test of the pages")]
mod synthetic;

use proptest::prelude::*;
use records::query::{QueryError, RunSamples, Table, Value, query};
use records::samples::{Sample, SamplesError, of_record, read_samples, write_samples};
use records::store::read_record;
use records::{Kept, Measurement, Metric, Record, Statistic, Store, StoreError};
use serde_json::json;

use synthetic::{CELLS, record, store, write};

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn run(records: &[Kept], sql: &str) -> Table {
    query(records, &[], sql).unwrap()
}

#[test]
fn records_measurements_and_cells_are_tables() {
    let (dir, store) = store(20);
    let nothing = Measurement::new(Metric::TtftMs, Statistic::P99, 0, None);
    write(dir.path(), Record { measurements: vec![nothing], ..record(21) });
    let records = store.read_kept().unwrap();

    let table =
        run(&records, "SELECT word, count(*) AS runs FROM runs GROUP BY word ORDER BY word");
    assert_eq!(table.columns, ["word", "runs"]);
    assert_eq!(
        table.rows,
        [vec![text("PASS"), Value::Int(17)], vec![text("VOID"), Value::Int(4)]],
        "0, 7, 14 and 21 are void"
    );
    let table = run(
        &records,
        "SELECT cell, ratio, low, rules FROM cells WHERE gate = 'sweep-1' AND concurrency >= 10 ORDER BY concurrency",
    );
    assert_eq!(
        table.rows,
        [
            vec![text("c10"), Value::Float(1.1), Value::Float(1.1 - 0.005), text("")],
            vec![text("c11"), Value::Null, Value::Null, text("V-CLOCK-OFF")],
        ],
        "where a rule fired there is no number"
    );
    let table = run(&records, "SELECT count(*) AS n, count(value) AS measured FROM measurements");
    assert_eq!(
        table.rows,
        [vec![Value::Int(41), Value::Int(40)]],
        "not measured is null, and not 0"
    );
    let table = run(
        &records,
        "SELECT r.gate, m.value FROM runs r JOIN measurements m ON r.run = m.run \
         WHERE m.metric = 'startup_ms' AND r.word = 'PASS' ORDER BY m.value DESC LIMIT 1",
    );
    assert_eq!(table.rows, [vec![text("gate-19"), Value::Float(19.5)]]);
    let table = run(&records, "SELECT count(*) AS n FROM cells");
    assert_eq!(table.rows, [vec![Value::Int(2 * i128::from(CELLS))]]);
    let table = run(&records, "SELECT * FROM samples");
    assert_eq!((table.columns.len(), table.rows.len()), (17, 0), "a table without rows is one");
}

#[test]
fn an_error_says_what_the_tables_and_columns_are() {
    for (sql, part) in [
        ("SELECT gate FROM run", "run"),
        ("SELECT colour FROM runs", "colour"),
        ("SELEC gate FROM runs", "SELEC"),
    ] {
        let error = query(&[], &[], sql).unwrap_err();
        assert!(matches!(error, QueryError::Sql { .. }), "{error:?}");
        let told = error.to_string();
        for part in
            [part, "runs: run, started_at, gate", "cells: run,", "samples: run, gate, leg, cell"]
        {
            assert!(told.contains(part), "{told}");
        }
    }
}

fn sample(request: u32) -> Sample {
    Sample {
        leg: format!("b{}-plumb", request / 4),
        cell: "c8".into(),
        arm: "plumb".into(),
        role: "measured".into(),
        block: Some(request / 4),
        slot: 1,
        session: 0,
        request,
        sent_ns: 5_000_000 * u64::from(request),
        ttft_ms: Some(50.0 + f64::from(request) / 7.0),
        tpot_ms: (request != 2).then_some(20.125),
        e2e_ms: Some(700.0),
        output_tokens: (request != 3).then_some(32),
        prompt_tokens: Some(128),
        end: "ok".into(),
    }
}

fn of(run: &str, samples: &[Sample]) -> RunSamples {
    RunSamples { run: run.into(), gate: "sweep".into(), samples: samples.to_vec() }
}

#[test]
fn samples_of_all_records_are_one_table() {
    let samples: Vec<Sample> = (0..8).map(sample).collect();
    let runs = [of("run-a", &samples), of("run-b", &samples[..3])];
    let sql = "SELECT run, count(*) AS n, count(tpot_ms) AS spans, max(ttft_ms) AS slowest, sum(output_tokens) AS tokens \
               FROM samples GROUP BY run ORDER BY run";
    let table = query(&[], &runs, sql).unwrap();
    let row = |run: &str, n, spans, slowest, tokens| {
        vec![text(run), Value::Int(n), Value::Int(spans), Value::Float(slowest), Value::Int(tokens)]
    };
    assert_eq!(
        table.rows,
        [row("run-a", 8, 7, 51.0, 7 * 32), row("run-b", 3, 2, 50.0 + 2.0 / 7.0, 96)]
    );

    let count = query(&[], &runs, "SELECT count(*) AS n FROM samples").unwrap();
    assert_eq!(count.rows, [[Value::Int(11)]]);
    let nan = [of("run-c", &[Sample { ttft_ms: Some(f64::NAN), ..sample(0) }])];
    let error = query(&[], &nan, sql).unwrap_err();
    assert!(matches!(&error, QueryError::Samples { run, .. } if run == "run-c"), "{error:?}");
    assert_eq!(
        query(&[], &nan, "SELECT count(*) AS n FROM runs").unwrap().rows,
        [[Value::Int(0)]],
        "nobody asked for samples"
    );
}

/// Rows come from the plan and the requests of the evidence; a changed byte of either, and a leg of another plan, are errors.
#[test]
fn the_samples_of_a_record_are_those_of_its_evidence() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let leg = |id: &str, block: Option<u32>, role: &str| json!({ "id": id, "session": 1, "cell": "c8", "block": block, "slot": 2, "arm": "plumb", "role": role });
    let plan = json!({ "legs": [leg("w", None, "discarded"), leg("b1", Some(1), "measured"), leg("b2", Some(2), "measured")] });
    let request = json!({
        "request": 7, "sent_ns": 5, "ttft_ns": 1_500_000, "tpot_ns": 2_250_000.5, "e2e_ns": 9_000_000,
        "prompt_tokens": 256, "output_tokens": 64, "end": "ok",
    });
    let failed = json!({ "request": 0, "sent_ns": 5, "end": "connection" });
    let kept = |requests: serde_json::Value| {
        let mut draft = store.begin("gate-1").unwrap();
        draft.content("plan.json", plan.to_string().as_bytes()).unwrap();
        draft.content("requests.json.gz", requests.to_string().as_bytes()).unwrap();
        read_record(&draft.commit(record(1)).unwrap()).unwrap()
    };
    let found = kept(json!({ "b1": [request], "w": [failed] }));
    let rows = of_record(&store, &found).unwrap().unwrap();
    let failed = Sample {
        leg: "w".into(),
        cell: "c8".into(),
        arm: "plumb".into(),
        role: "discarded".into(),
        slot: 2,
        session: 1,
        sent_ns: 5,
        end: "connection".into(),
        ..Sample::default()
    };
    let whole = Sample {
        leg: "b1".into(),
        role: "measured".into(),
        block: Some(1),
        request: 7,
        ttft_ms: Some(1.5),
        tpot_ms: Some(2.250_000_5),
        e2e_ms: Some(9.0),
        output_tokens: Some(64),
        prompt_tokens: Some(256),
        end: "ok".into(),
        ..failed.clone()
    };
    assert_eq!(rows, [failed, whole], "in the order of the plan");

    let stranger = kept(json!({ "b9": [] }));
    let error = of_record(&store, &stranger).unwrap_err();
    assert!(matches!(&error, SamplesError::Leg { leg, .. } if leg == "b9"), "{error}");
    let entry = found.evidence.iter().find(|entry| entry.name == "requests.json.gz").unwrap();
    std::fs::write(store.evidence_file(entry), "other").unwrap();
    let error = of_record(&store, &found).unwrap_err();
    assert!(matches!(error, SamplesError::Store(StoreError::Changed { .. })), "{error}");
    assert_eq!(of_record(&store, &record(1)).unwrap(), None, "a gate keeps none");
}

#[test]
fn samples_that_are_none_are_refused() {
    let nan = Sample { tpot_ms: Some(f64::NAN), ..sample(1) };
    let error = write_samples(&[sample(0), nan]).unwrap_err();
    assert!(matches!(error, SamplesError::NotFinite { row: 1, column: "tpot_ms", .. }), "{error}");
    let late = Sample { sent_ns: u64::MAX, ..sample(1) };
    assert!(matches!(write_samples(&[late]), Err(SamplesError::Value { column: "sent_ns", .. })));
    assert!(matches!(read_samples(b"PAR1"), Err(SamplesError::Parquet(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// What is read is what was written, and the same samples are the same bytes.
    #[test]
    fn samples_round_trip(
        rows in prop::collection::vec(
            ("[a-z0-9-]{0,12}", any::<u32>(), 0..i64::MAX as u64, any::<Option<f64>>(), any::<Option<u32>>()), 0..40,
        ),
    ) {
        let samples: Vec<Sample> = rows
            .into_iter()
            .map(|(name, number, sent_ns, value, tokens)| Sample {
                leg: name.clone(), cell: name.clone(), arm: "é".into(), role: name, block: tokens, slot: number,
                session: number, request: number, sent_ns, ttft_ms: value.filter(|v| v.is_finite()), tpot_ms: None,
                e2e_ms: Some(0.1), output_tokens: tokens, prompt_tokens: None, end: "timed-out".into(),
            })
            .collect();
        let bytes = write_samples(&samples).unwrap();
        prop_assert_eq!(&bytes, &write_samples(&samples).unwrap());
        prop_assert_eq!(read_samples(&bytes).unwrap(), samples);
    }
}

#[test]
fn several_groups_of_rows_give_the_same_bytes_twice() {
    let samples: Vec<Sample> = (0..300_000).map(sample).collect();
    let bytes = write_samples(&samples).unwrap();
    assert_eq!(bytes, write_samples(&samples).unwrap());
    assert_eq!(read_samples(&bytes).unwrap(), samples);
}
