//! A record and a series that never ran, for pages. Every number is made from a counter, so that pages are the same bytes.

use std::collections::BTreeMap;

use records::review::run::File;
use records::{
    CellVerdict, Machine, Measurement, Metric, RatioInterval, Record, Series, Statistic, Subject,
    Verdict, VerdictWord, sha256_hex,
};
use serde_json::{Value, json};

/// A string that would be markup, script, a terminal's command and a link if it were let.
pub(crate) const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{1b}[31m\"'&\u{202e}";

/// A pass of a gate of three cases.
pub(crate) fn record() -> Record {
    let info = json!({ "name": "plumb", "isa": ["avx2", "fma"], "threads": 2 });
    Record {
        schema_version: 1,
        id: "20261202T101112Z-tiny-0123456789ab".into(),
        gate: "tiny".into(),
        kinds: vec!["token-exact".into()],
        spec_sha256: "a".repeat(64),
        started_at: "2026-12-02T10:11:12Z".parse().unwrap(),
        duration_ms: 1234,
        subject: Subject {
            name: "plumb".into(),
            version: "0.1.0".into(),
            commit: Some("c0ffee00c0ffee00".into()),
            source_sha256: "b".repeat(64),
            binary_sha256: "c".repeat(64),
            profile: "llamacpp-cpu".into(),
            threads: 2,
            info,
        },
        oracle: None,
        checkpoint: None,
        inputs_sha256: None,
        harness_sha256: None,
        machine: Machine {
            cpu_model: Some("A processor".into()),
            cpu_features: vec!["avx2".into()],
            physical_cores: Some(2),
            logical_cores: Some(2),
            memory_bytes: Some(25_276_510_208),
            memory_available_bytes: Some(24_645_005_312),
            kernel: Some("6.18".into()),
            os: Some("Linux".into()),
            boot_id: None,
            load: Some([0.5, 1.0, 1.5]),
            cpu_pressure_percent: None,
        },
        verdict: Verdict { word: VerdictWord::Pass, rules: vec![], reason: "3/3 exact".into() },
        compared: 3,
        measurements: vec![
            Measurement::count(Metric::ExactCases, 3),
            Measurement::new(Metric::GapMnats, Statistic::Max, 0, None),
        ],
        divergences: vec![],
        evidence: vec![],
        reproduce: "cargo gate run tiny".into(),
        supersedes: None,
        resumed_answers: None,
        series: None,
    }
}

/// A number in (-1, 1) from a counter.
fn wobble(at: u64) -> f64 {
    let mixed =
        at.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// An A/B of `pairs` pairs at each of three concurrencies: improved where nothing stands against it, open where clocks were apart,
/// void where a leg broke a rule.
pub(crate) fn series(pairs: u64) -> (Record, Vec<File>) {
    let cells = [("c1", 1_u32), ("c8", 8), ("c32", 32)];
    let arms = [("main", 1.0), ("change", 1.06), ("main-null", 1.0)];
    let (mut legs, mut outcomes, mut windows) =
        (Vec::new(), serde_json::Map::new(), serde_json::Map::new());
    let mut at = 0_u64;
    for (cell, concurrency) in cells {
        for block in 1..=pairs {
            for (slot, (arm, speed)) in arms.iter().enumerate() {
                at += 1;
                let id = format!("s1.{cell}.b{block:03}.{slot}.{arm}");
                legs.push(json!({ "id": id, "session": 1, "cell": cell, "block": block, "slot": slot, "arm": arm, "role": "measured" }));
                let noise = 1.0 + 0.012 * wobble(at);
                let apart = cell == "c8" && *arm == "change" && block % 7 == 3;
                let clock = 2470.0 * if apart { 0.975 } else { 1.0 + 0.001 * wobble(at + 9) };
                let tpot = 11.0 * (1.0 + f64::from(concurrency) / 24.0) / speed * noise;
                let rate = 1000.0 * f64::from(concurrency) / tpot;
                let broken = cell == "c32" && block == 2 && *arm == "change";
                let violations = if broken {
                    json!([{ "rule": "V-FAILED", "reason": format!("1 of 96 requests did not end well: {HOSTILE}") }])
                } else {
                    json!([])
                };
                outcomes.insert(id.clone(), json!({
                    "plan_sha256": "", "at_s": at as f64 * 31.5, "workload_sha256": "", "violations": violations,
                    "ended": { "measured": {
                        "output_tokens_per_s": rate, "tpot_ms_p50": tpot, "ttft_ms_p50": 42.0 * f64::from(concurrency).sqrt() * noise,
                    } },
                    "clock": { "mean": clock, "median": clock },
                }));
                windows.insert(
                    id,
                    json!({ "gpus": [{ "samples": [
                    { "at_ns": 1_000_000_000_u64, "power_mw": 410_000.0 + 9000.0 * wobble(at) },
                    { "at_ns": 9_000_000_000_u64, "power_mw": null },
                ] }] }),
                );
            }
        }
    }
    let plan = json!({
        "grid": "ab", "null": { "of": "main", "twin": "main-null" },
        "cells": cells.map(|(id, concurrency)| json!({ "id": id, "concurrency": concurrency })),
        "axes": [{ "metric": "output_tokens_per_s", "direction": "higher" }],
        "sessions": 1, "looks": [pairs], "alpha": 0.05, "legs": legs,
    });
    let discarded: Vec<Value> = (1..=pairs)
        .filter(|block| block % 7 == 3)
        .map(
            |block| json!({ "block": block, "clock_mean_off": -0.025, "clock_median_off": -0.025 }),
        )
        .collect();
    let compared = |discarded: &[Value]| {
        json!({ "compared": {
        "discarded": discarded, "null": { "estimate": 0.0, "lower": -0.004, "upper": 0.004 },
    } })
    };
    let judged = |cell: &str, judged: Value| {
        json!({
            "cell": cell, "comparison": { "reference": "main", "subject": "change" }, "metric": "output_tokens_per_s", "judged": judged,
        })
    };
    let report = json!({ "verdicts": [
        judged("c1", compared(&[])), judged("c8", compared(&discarded)), judged("c32", json!({ "void": [] })),
    ] });
    let file = |name: &str, value: &Value| File {
        name: name.into(),
        bytes: records::canonical::canonical_json(value).unwrap().into_bytes(),
    };
    let files = vec![
        file("plan.json", &plan),
        file("outcomes.json", &Value::Object(outcomes)),
        file("report.json", &report),
        file("windows.json", &Value::Object(windows)),
    ];
    let cell =
        |cell: &str, concurrency, word: &str, ratio, rules: &[&str], reason: &str| CellVerdict {
            cell: cell.into(),
            concurrency,
            subject: "change".into(),
            reference: "main".into(),
            metric: "output_tokens_per_s".into(),
            word: word.into(),
            ratio,
            rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
            reason: reason.into(),
        };
    let kept = pairs - discarded.len() as u64;
    let series = Series {
        plan_sha256: sha256_hex(&files[0].bytes),
        arms: BTreeMap::from([
            (
                "main".to_owned(),
                json!({ "version": "0.1.0", "kernels": { "q4_1": "avx2" }, "threads": 2 }),
            ),
            (
                "change".to_owned(),
                json!({ "version": "0.1.0", "kernels": { "q4_1": "avx512" }, "threads": 2 }),
            ),
            (
                "main-null".to_owned(),
                json!({ "version": "0.1.0", "kernels": { "q4_1": "avx2" }, "threads": 2 }),
            ),
        ]),
        pairs,
        cells: vec![
            cell(
                "c1",
                1,
                "IMPROVED",
                Some(RatioInterval { estimate: 1.0601, low: 1.0532, high: 1.0668 }),
                &[],
                "the interval lies above what equals show",
            ),
            cell(
                "c8",
                8,
                "INCONCLUSIVE",
                Some(RatioInterval { estimate: 1.058, low: 0.996, high: 1.103 }),
                &[],
                &format!(
                    "{} pairs DISCARDED, clocks apart, {kept} are left; next: hold the clocks equal, then a new series",
                    discarded.len()
                ),
            ),
            cell(
                "c32",
                32,
                "VOID",
                None,
                &["V-FAILED"],
                "(V-FAILED) 1 of 96 requests did not end well; next: mend V-FAILED, then a new series",
            ),
        ],
    };
    let mut record = record();
    record.gate = "ab-attention".into();
    record.verdict = Verdict {
        word: VerdictWord::Void,
        rules: vec!["V-FAILED".into()],
        reason: "the gravest of 3 words is VOID".into(),
    };
    record.measurements.clear();
    record.reproduce = "cargo grid run ab-attention".into();
    record.series = Some(series);
    (record, files)
}
