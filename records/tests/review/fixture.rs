//! A record of a gate that never ran, for pages.

use records::{Machine, Measurement, Metric, Record, Statistic, Subject, Verdict, VerdictWord};
use serde_json::json;

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
