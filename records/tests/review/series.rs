//! A series that never ran. Every number is made from a counter, so that pages are the same bytes.

use std::collections::BTreeMap;

use records::packed::pack;
use records::review::run::File;
use records::{
    CellVerdict, Medians, RatioInterval, Record, Series, Verdict, VerdictWord, sha256_hex,
};
use serde_json::{Map, Value, json};

use crate::fixture::{HOSTILE, record};
use crate::samples;

const OUTCOMES: &str = "outcomes.json.gz";
const CELLS: [(&str, u32); 3] = [("c1", 1), ("c8", 8), ("c32", 32)];
/// Arms with their speed.
const ARMS: [(&str, f64); 3] = [("main", 1.0), ("change", 1.06), ("main-null", 1.0)];

/// What is said of c1 and c8; c32 is void.
const RATIOS: [RatioInterval; 2] = [
    RatioInterval { estimate: 1.0601, low: 1.0532, high: 1.0668 },
    RatioInterval { estimate: 1.058, low: 0.996, high: 1.103 },
];
const MEDIANS: [Medians; 2] = [
    Medians { subject: 1060.5, reference: 1000.25 },
    Medians { subject: 4755.5, reference: 4491.0 },
];

/// A number in (-1, 1) from a counter: SplitMix64, so that neighbours have nothing in common.
pub(crate) fn wobble(at: u64) -> f64 {
    let mut mixed = at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// The pair of equals at c1 whose clocks are apart.
pub(crate) const NULL_APART: u64 = 4;

/// Whether the clocks of a pair at c8 are apart.
fn is_apart(block: u64) -> bool {
    block % 7 == 3
}

/// An A/B of `pairs` pairs at each of three concurrencies: improved where nothing stands against it, open where clocks were apart,
/// void where a leg broke a rule.
pub(crate) fn series(pairs: u64) -> (Record, Vec<File>) {
    let (legs, outcomes) = legs(pairs);
    let plan = json!({
        "grid": "ab", "null": { "of": "main", "twin": "main-null" },
        "cells": CELLS.map(|(id, concurrency)| json!({ "id": id, "concurrency": concurrency })),
        "axes": [{ "metric": "output_tokens_per_s", "direction": "higher" }],
        "sessions": 1, "looks": [pairs], "alpha": 0.05, "legs": legs,
    });
    let file = |name: &str, value: &Value| {
        let bytes = pack(name, &canonical(value));
        File { name: name.into(), bytes, href: format!("../records/evidence/{name}") }
    };
    let files = vec![
        file("plan.json", &plan),
        file("requests.json.gz", &samples::requests(&outcomes)),
        file("around.json.gz", &samples::around(&outcomes)),
        file(OUTCOMES, &Value::Object(outcomes)),
        file("report.json", &report(&sha256_hex(&canonical(&plan)), pairs)),
        file("correct.json", &correct()),
    ];
    let said =
        |kernel: &str| json!({ "version": "0.1.0", "kernels": { "q4_1": kernel }, "threads": 2 });
    let arms = ARMS
        .map(|(arm, _)| (arm.to_owned(), said(if arm == "change" { "avx512" } else { "avx2" })));
    let mut record = record();
    record.gate = "ab-attention".into();
    record.verdict = Verdict {
        word: VerdictWord::Void,
        rules: vec!["V-FAILED".into()],
        reason: "3 words: 1 IMPROVED, 1 INCONCLUSIVE, 1 VOID".into(),
    };
    record.compared = 2;
    record.measurements.clear();
    record.reproduce = "cargo grid run ab-attention".into();
    record.series = Some(Series {
        plan_sha256: sha256_hex(&files[0].bytes),
        arms: BTreeMap::from(arms),
        machines: vec![record.machine.clone()],
        pairs,
        is_as_declared: true,
        cells: cells(pairs),
    });
    (record, files)
}

fn canonical(value: &Value) -> Vec<u8> {
    records::canonical::canonical_json(value).unwrap().into_bytes()
}

/// One arm has passed its gate, against one that was not run stands a sentence.
fn correct() -> Value {
    json!({
        "certificates": [{ "arm": "main", "passed": { "tiny": "20261202T101112Z-tiny-0123456789ab" } }],
        "standing": { "left-out": [{ "rule": "V-CORRECT", "reason": format!("left-out: tiny is FAIL {HOSTILE}") }] },
    })
}

/// Every leg and its outcome.
fn legs(pairs: u64) -> (Vec<Value>, Map<String, Value>) {
    let (mut legs, mut outcomes) = (Vec::new(), Map::new());
    for (cell, concurrency) in CELLS {
        for block in 1..=pairs {
            for (slot, (arm, speed)) in ARMS.into_iter().enumerate() {
                let at = legs.len() as u64 + 1;
                let id = format!("s1.{cell}.b{block:03}.{slot}.{arm}");
                legs.push(json!({
                    "id": id, "session": 1, "cell": cell, "block": block, "slot": slot, "arm": arm, "role": "measured",
                }));
                outcomes.insert(id, outcome(at, (cell, concurrency), block, arm, speed));
            }
        }
    }
    (legs, outcomes)
}

fn outcome(at: u64, (cell, concurrency): (&str, u32), block: u64, arm: &str, speed: f64) -> Value {
    let concurrency = f64::from(concurrency);
    let noise = 1.0 + 0.012 * wobble(at);
    let apart = cell == "c8" && arm == "change" && is_apart(block)
        || cell == "c1" && arm == "main-null" && block == NULL_APART;
    let clock = 2470.0 * if apart { 0.975 } else { 1.0 + 0.001 * wobble(at + 9) };
    let tpot = 11.0 * (1.0 + concurrency / 24.0) / speed * noise;
    let violations = if cell == "c32" && block == 2 && arm == "change" {
        json!([{ "rule": "V-FAILED", "reason": format!("1 of 96 requests did not end well: {HOSTILE}") }])
    } else {
        json!([])
    };
    json!({
        "plan_sha256": "", "at_s": at as f64 * 31.5, "workload_sha256": "", "violations": violations,
        "ended": { "measured": {
            "output_tokens_per_s": 1000.0 * concurrency / tpot,
            "tpot_ms_p50": tpot,
            "ttft_ms_p50": 42.0 * concurrency.sqrt() / (0.5 + 0.5 * speed) * noise,
        } },
        "clock": { "mean": clock, "median": clock },
    })
}

fn report(plan_sha256: &str, pairs: u64) -> Value {
    let discarded: Vec<Value> = (1..=pairs)
        .filter(|block| is_apart(*block))
        .map(
            |block| json!({ "block": block, "clock_mean_off": -0.025, "clock_median_off": -0.025 }),
        )
        .collect();
    let compared = |word: &str, discarded: &[Value], ratio: RatioInterval, medians: Medians| {
        let interval = json!({ "estimate": ratio.estimate.ln(), "lower": ratio.low.ln(), "upper": ratio.high.ln() });
        json!({ "compared": {
            "word": word, "time": { "primary": interval }, "deciding": interval,
            "described": { "values": [[medians.reference, medians.subject]] },
            "discarded": discarded, "null": { "estimate": 0.0, "lower": -0.004, "upper": 0.004 },
        } })
    };
    let judged = |cell: &str, judged: Value| {
        json!({
            "cell": cell, "comparison": { "reference": "main", "subject": "change" },
            "metric": "output_tokens_per_s", "judged": judged,
        })
    };
    let broken = json!([{ "rule": "V-FAILED", "reason": "1 of 96 requests did not end well" }]);
    json!({ "plan_sha256": plan_sha256, "verdicts": [
        judged("c1", compared("IMPROVED", &[], RATIOS[0], MEDIANS[0])),
        judged("c8", compared("INCONCLUSIVE", &discarded, RATIOS[1], MEDIANS[1])),
        judged("c32", json!({ "void": broken })),
    ] })
}

fn cells(pairs: u64) -> Vec<CellVerdict> {
    let apart = (1..=pairs).filter(|block| is_apart(*block)).count() as u64;
    let cell =
        |place: usize, word: &str, figures: &str, rules: &[&str], reason: &str| CellVerdict {
            cell: CELLS[place].0.into(),
            concurrency: CELLS[place].1,
            subject: "change".into(),
            reference: "main".into(),
            metric: "output_tokens_per_s".into(),
            word: word.into(),
            ratio: RATIOS.get(place).copied(),
            medians: MEDIANS.get(place).copied(),
            answers: Some("96/96 answers equal".into()),
            rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
            reason: format!(
                "{} output_tokens_per_s change/main: {word} {figures}{reason}",
                CELLS[place].0
            ),
        };
    let few = format!(
        "{apart} pairs DISCARDED, clocks apart, {} are left; next: hold the clocks equal, then a new series",
        pairs - apart
    );
    let failed =
        "(V-FAILED) 1 of 96 requests did not end well; next: mend V-FAILED, then a new series";
    vec![
        cell(
            0,
            "IMPROVED",
            "1.0601 [1.0532, 1.0668] ",
            &[],
            "the interval lies above what equals show",
        ),
        cell(1, "INCONCLUSIVE", "1.0580 [0.9960, 1.1030] ", &[], &few),
        cell(2, "VOID", "", &["V-FAILED"], failed),
    ]
}
