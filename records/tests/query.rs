//! SQL over the store, and raw samples that come back as they were.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[path = "pages/synthetic.rs"]
#[expect(dead_code, reason = "shared with the test of the pages")]
mod synthetic;

use std::path::Path;

use proptest::prelude::*;
use records::query::{QueryError, SampleFile, Table, Value, query};
use records::samples::{Sample, SamplesError, read_samples, write_samples};
use records::{Kept, Measurement, Metric, Record, Statistic};

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
        role: "pair".into(),
        block: request / 4,
        slot: 1,
        session: 0,
        request,
        sent_ns: 5_000_000 * u64::from(request),
        ttft_ms: Some(50.0 + f64::from(request) / 7.0),
        tpot_ms: (request != 2).then_some(20.125),
        e2e_ms: Some(700.0),
        output_tokens: (request != 3).then_some(32),
        prompt_tokens: Some(128),
        end: "complete".into(),
    }
}

fn put(dir: &Path, name: &str, samples: &[Sample]) -> SampleFile {
    let path = dir.join(name);
    std::fs::write(&path, write_samples(samples).unwrap()).unwrap();
    SampleFile { run: format!("run-{name}"), gate: "sweep".into(), path }
}

#[test]
fn samples_of_all_records_are_one_table() {
    let dir = tempfile::tempdir().unwrap();
    let samples: Vec<Sample> = (0..8).map(sample).collect();
    // A file is found by its digest, which has no extension, and may have characters that a pattern would read.
    let files = [put(dir.path(), "a[1]", &samples), put(dir.path(), "b", &samples[..3])];
    let sql = "SELECT run, count(*) AS n, count(tpot_ms) AS spans, max(ttft_ms) AS slowest, sum(output_tokens) AS tokens \
               FROM samples GROUP BY run ORDER BY run";
    let table = query(&[], &files, sql).unwrap();
    let row = |run: &str, n, spans, slowest, tokens| {
        vec![text(run), Value::Int(n), Value::Int(spans), Value::Float(slowest), Value::Int(tokens)]
    };
    assert_eq!(
        table.rows,
        [row("run-a[1]", 8, 7, 51.0, 7 * 32), row("run-b", 3, 2, 50.0 + 2.0 / 7.0, 96)]
    );

    let count = query(&[], &files, "SELECT count(*) AS n FROM samples").unwrap();
    assert_eq!(count.rows, [[Value::Int(11)]]);
    // Two records that keep the same file: each has its rows.
    let shared = [files[0].clone(), SampleFile { run: "another".into(), ..files[0].clone() }];
    let both =
        query(&[], &shared, "SELECT run, count(*) AS n FROM samples GROUP BY run ORDER BY run");
    let rows = [vec![text("another"), Value::Int(8)], vec![text("run-a[1]"), Value::Int(8)]];
    assert_eq!(both.unwrap().rows, rows);

    std::fs::write(&files[1].path, "torn").unwrap();
    let error = query(&[], &files, sql).unwrap_err();
    assert!(
        matches!(&error, QueryError::Samples { path, .. } if *path == files[1].path),
        "{error:?}"
    );
    assert_eq!(
        query(&[], &files, "SELECT count(*) AS n FROM runs").unwrap().rows,
        [[Value::Int(0)]],
        "nobody asked for samples"
    );
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
                leg: name.clone(), cell: name.clone(), arm: "é".into(), role: name, block: number, slot: number,
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
