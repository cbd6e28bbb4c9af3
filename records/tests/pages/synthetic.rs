//! A store of made-up records, written file by file: a commit flushes the disk three times, which is not what is looked at here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use records::canonical::canonical_json;
use records::gap::{Class, OpenGaps, Present, Track};
use records::{
    CellVerdict, CheckpointRef, Evidence, Machine, Measurement, Metric, RatioInterval, Record,
    Series, Statistic, Subject, Timestamp, Verdict, VerdictWord, sha256_hex,
};
use serde_json::json;

/// Gates that are no grid, and grids.
pub(crate) const GATES: usize = 40;
pub(crate) const GRIDS: usize = 5;
/// Every tenth record is of a grid, with this many cells, of which the last is void.
pub(crate) const CELLS: u32 = 12;

pub(crate) fn digest(text: &str) -> String {
    sha256_hex(text.as_bytes())
}

/// The gate of the `n`th record.
pub(crate) fn gate(n: usize) -> String {
    if n.is_multiple_of(10) {
        format!("sweep-{}", n / 10 % GRIDS)
    } else {
        format!("gate-{}", n % GATES)
    }
}

/// The `n`th record, a minute after the one before.
pub(crate) fn record(n: usize) -> Record {
    let gate = gate(n);
    let is_grid = gate.starts_with("sweep");
    let word = if n.is_multiple_of(7) { VerdictWord::Void } else { VerdictWord::Pass };
    let rules = if word == VerdictWord::Void { vec!["V-BOOT".to_owned()] } else { vec![] };
    let startup = Measurement::new(Metric::StartupMs, Statistic::Median, 3, Some(n as f64 + 0.5));
    Record {
        schema_version: 1,
        id: String::new(),
        gate,
        kinds: vec!["startup".into()],
        spec_sha256: digest("spec"),
        started_at: Timestamp::from_second(1_780_000_000 + 60 * n as i64).unwrap(),
        duration_ms: n as u64,
        subject: Subject {
            name: "plumb".into(),
            version: "0.1.0".into(),
            commit: None,
            source_sha256: digest("sources"),
            binary_sha256: digest("binary"),
            profile: "own".into(),
            threads: 2,
            info: json!({"isa": ["avx2"], "kernels": {"q4_0": "avx2", "q8_0": "avx2"}, "padding": "x".repeat(1500)}),
        },
        oracle: None,
        checkpoint: Some(CheckpointRef { name: "tiny".into(), sha256: digest("tiny") }),
        inputs_sha256: None,
        harness_sha256: Some(digest("harness")),
        machine: machine(),
        verdict: Verdict { word, rules, reason: format!("run {n} | of a made-up gate") },
        compared: u64::from(word == VerdictWord::Pass),
        measurements: vec![startup, Measurement::count(Metric::ExactCases, 1)],
        divergences: vec![],
        evidence: vec![],
        reproduce: "cargo gate run it".into(),
        supersedes: None,
        resumed_answers: None,
        series: is_grid.then(|| series(n)),
    }
}

fn machine() -> Machine {
    Machine {
        cpu_model: Some("made up".into()),
        cpu_features: vec!["avx2".into(); 40],
        physical_cores: Some(1),
        logical_cores: Some(2),
        memory_bytes: None,
        memory_available_bytes: None,
        kernel: None,
        os: None,
        boot_id: None,
        load: None,
        cpu_pressure_percent: None,
    }
}

fn series(n: usize) -> Series {
    let cell = |index: u32| {
        let estimate = 1.0 + f64::from(index) / 100.0;
        let is_void = index + 1 == CELLS;
        CellVerdict {
            cell: format!("c{index}"),
            concurrency: index,
            subject: "plumb".into(),
            reference: "llama-cpp".into(),
            metric: "tpot_ms_p50".into(),
            word: if is_void { "VOID" } else { "IMPROVED" }.into(),
            ratio: (!is_void).then_some(RatioInterval {
                estimate,
                low: estimate - 0.005,
                high: estimate + 0.005,
            }),
            medians: None,
            answers: None,
            rules: if is_void { vec!["V-CLOCK-OFF".into()] } else { vec![] },
            reason: format!("cell {index} of run {n}"),
        }
    };
    let (arms, plan_sha256) = (BTreeMap::new(), digest("plan"));
    Series {
        machines: Vec::new(),
        plan_sha256,
        arms,
        pairs: 10,
        is_as_declared: true,
        cells: (0..CELLS).map(cell).collect(),
    }
}

/// Writes a record with one evidence file, and gives its id.
pub(crate) fn write(store: &Path, mut record: Record) -> String {
    let evidence = format!("{} {}\n", record.gate, record.duration_ms).repeat(100);
    let sha256 = digest(&evidence);
    let path = format!("evidence/{sha256}.txt");
    fs::write(store.join(&path), &evidence).unwrap();
    let (name, bytes) = ("samples.txt".to_owned(), evidence.len() as u64);
    record.evidence = vec![Evidence { name, path, sha256, bytes, external: false }];
    let mut value = serde_json::to_value(&record).unwrap();
    value.as_object_mut().unwrap().shift_remove("id");
    let hash = &digest(&canonical_json(&value).unwrap())[..12];
    let date = record.started_at.strftime("%Y%m%dT%H%M%SZ");
    let id = format!("{date}-{}-{hash}", record.gate);
    value["id"] = json!(id);
    fs::write(store.join(format!("runs/{id}.json")), canonical_json(&value).unwrap()).unwrap();
    id
}

/// A store of so many records.
pub(crate) fn store(records: usize) -> (tempfile::TempDir, records::Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = records::Store::open(dir.path()).unwrap();
    for n in 0..records {
        write(dir.path(), record(n));
    }
    (dir, store)
}

/// 75 tracks: the first 40 have a gate each, the next five a grid, the others wait.
pub(crate) fn tracks() -> OpenGaps {
    let track = |row: u32| {
        let index = row as usize - 1;
        let gates = match index {
            0..GATES => vec![format!("gate-{index}")],
            _ if index < GATES + GRIDS => vec![format!("sweep-{}", index - GATES)],
            _ => vec![],
        };
        Track {
            id: format!("track-{row}"),
            row,
            class: Class::G,
            title: format!("Track {row}"),
            about: "What it is about.".into(),
            planned: if gates.is_empty() { vec![format!("later-{row}")] } else { vec![] },
            gates,
            missing: None,
            waits_for: Some("something".into()),
            hardware: None,
            twin: None,
            no_number_owed: Some("made up".into()),
            word: None,
            reason: None,
            foreign_claim: None,
        }
    };
    OpenGaps { known_failing: vec![], tracks: (1..=75).map(track).collect() }
}

/// The tree at which all records were made.
pub(crate) fn present() -> Present {
    let gates = (0..GATES).map(|n| format!("gate-{n}"));
    let grids = (0..GRIDS).map(|n| format!("sweep-{n}"));
    Present {
        source_sha256: digest("sources"),
        harness_sha256: digest("harness"),
        specs: gates.chain(grids).map(|gate| (gate, digest("spec"))).collect(),
        checkpoints: BTreeMap::from([("tiny".to_owned(), digest("tiny"))]),
        ..Present::default()
    }
}
