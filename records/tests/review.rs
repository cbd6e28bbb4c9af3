//! Pages for people: what they say, that nothing in evidence becomes markup, and that many pairs stay cheap.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[path = "review/fixture.rs"]
mod fixture;
#[path = "review/series.rs"]
mod fixture_series;
#[path = "review/samples.rs"]
mod samples;

use fixture::{HOSTILE, record};
use fixture_series::series;
use records::packed::{pack, unpack};
use records::review::chart::Shape;
use records::review::page::{Block, Cell, Figure, Found, Parting, RuleStep, Rung, Side, Tone};
use records::review::run::{Case, Cases, Distribution, File, Findings, Outcome};
use records::review::text::Style;
use records::review::{self, Page};
use records::{CellVerdict, Evidence, Measurement, Metric, Record, Statistic, Store, VerdictWord};

const PLAIN: Style = Style { width: 100, colour: false };

fn findings() -> Findings {
    let side = |token, text: &str, top: &[(u32, f64)]| Side {
        token,
        text: text.into(),
        top: top.to_vec(),
    };
    let case = |id: &str, outcome| Case {
        id: id.into(),
        outcome,
        prompt_tokens: 5,
        shared_tokens: 8,
        answered_tokens: 8,
        prompt: HOSTILE.into(),
        answer: "Paris".into(),
    };
    let rung = |question: &str, word: &str, taken| Rung {
        question: question.into(),
        answer: "no".into(),
        word: word.into(),
        taken,
        reached: true,
    };
    Findings {
        asked: "three prompts".into(),
        next: "a change of sources".into(),
        rules: vec![RuleStep {
            id: "V-PIN".into(),
            demand: "Broken if the oracle is another.".into(),
            source: "facts.json".into(),
            inputs: vec![("pinned".into(), HOSTILE.into())],
            found: Found::Held,
        }],
        order: vec![rung("Was a rule broken?", "VOID", false), rung("Within?", "PASS", true)],
        cases: Some(Cases {
            all: vec![case("one", Outcome::Exact), case(HOSTILE, Outcome::Tie)],
            partings: vec![Parting {
                case: HOSTILE.into(),
                index: 3,
                prompt: HOSTILE.into(),
                shared: "The capital".into(),
                ours: side(7, HOSTILE, &[(7, -0.5), (9, -0.75)]),
                oracle: side(9, " of", &[]),
                verdict: Cell {
                    text: "near tie".into(),
                    tone: Some(Tone::Open),
                    ..Cell::default()
                },
                reading: vec![("gap".into(), "31.2 milli-nats".into())],
            }],
        }),
        distribution: Some(Distribution { positions: vec![(1e-6, 1), (3e-4, 2), (0.0, 1)] }),
        ..Findings::default()
    }
}

fn gate_page() -> Page {
    review::run::page(&record(), &findings(), &[], "../records/")
}

fn series_page(pairs: u64) -> Page {
    let (record, files) = series(pairs);
    review::run::page(&record, &Findings::default(), &files, "../records/")
}

#[test]
fn a_gate_in_text_and_markup() {
    insta::assert_snapshot!("gate_text", review::text(&gate_page(), PLAIN));
    let html = review::html(&gate_page());
    // The style sheet has its own reviewer: the eye.
    let (head, rest) = html.split_once("<style>").unwrap();
    let (_, body) = rest.split_once("</style>").unwrap();
    insta::assert_snapshot!("gate_html", format!("{head}{body}"));
}

/// What `grid` itself recorded, of made-up outcomes: `tests/review/store` is a store that it wrote.
fn recorded() -> (Record, Vec<File>) {
    let store = Store::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/review/store")).unwrap();
    let record = store.read_all().unwrap().remove(0);
    let file = |entry: &Evidence| File {
        name: entry.name.clone(),
        bytes: store.evidence(entry).unwrap(),
        href: format!("../records/{}", entry.path),
    };
    let files: Vec<File> = record.evidence.iter().map(file).collect();
    (record, files)
}

fn recorded_page() -> Page {
    let (record, files) = recorded();
    review::run::page(&record, &Findings::default(), &files, "../records/")
}

/// Ratios, intervals, discarded blocks and the broken leg are those that the grid's judge printed when it recorded the series.
#[test]
fn what_a_grid_recorded_in_text() {
    let text = review::text(&recorded_page(), Style { width: 160, colour: false });
    insta::assert_snapshot!("recorded_text", text);
    let html = review::html(&recorded_page());
    for said in [
        "1.0592",
        "1.0530 to 1.0667",
        "INCONCLUSIVE",
        "DISCARD",
        "s1.c32.b002.2.change",
        "20261202T124830Z-smollm2-greedy",
    ] {
        assert!(html.contains(said), "{said}");
    }
    for (figure, count) in [
        ("<figure id=\"pairs-", 4),
        ("<figure id=\"null-", 4),
        ("<figure id=\"ecdf-", 6),
        ("<figure id=\"clock\"", 1),
        ("<figure id=\"spins\"", 0),
        ("<figure id=\"requests-", 0),
        ("<figure id=\"tpot\"", 1),
    ] {
        assert_eq!(html.matches(figure).count(), count, "{figure}: none where a rule fired");
    }
}

#[test]
fn a_series_in_text() {
    insta::assert_snapshot!("series_text", review::text(&series_page(10), PLAIN));
}

#[test]
fn nothing_in_evidence_is_markup_or_a_terminals_command() {
    for page in [gate_page(), series_page(10), review::refusal(HOSTILE, &[HOSTILE.to_owned()])] {
        let html = review::html(&page);
        assert!(html.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
        for live in ["<script", "</script", "<img", "javascript:", "\u{1b}", "\u{202e}"] {
            assert!(!html.contains(live), "{live:?}");
        }
        assert!(!review::text(&page, PLAIN).contains(['\u{1b}', '\u{202e}']));
    }
}

#[test]
fn pages_need_no_network_and_serve_light_dark_and_readers_without_eyes() {
    for page in [gate_page(), series_page(10)] {
        let html = review::html(&page);
        for outside in ["http://", "https://", "url(", "@import", "xmlns", "<link"] {
            assert!(!html.contains(outside), "{outside}");
        }
        for needed in [
            "prefers-color-scheme: dark",
            "--paper:",
            "--ink:",
            "@media print",
            "Content-Security-Policy",
        ] {
            assert!(html.contains(needed), "{needed}");
        }
        let drawings: Vec<&str> =
            html.split("<svg").skip(1).map(|rest| rest.split("</svg>").next().unwrap()).collect();
        assert!(!drawings.is_empty());
        for drawing in drawings {
            assert!(drawing.contains("<title") && drawing.contains("<desc"), "{drawing}");
            // Colours are properties of the style sheet alone.
            assert!(!drawing.contains("=\"#"), "{drawing}");
        }
    }
}

#[test]
fn ids_are_unique_and_anchors_lead_somewhere() {
    for page in [gate_page(), series_page(10)] {
        let html = review::html(&page);
        let mut ids: Vec<&str> =
            html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
        let anchors = html.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap());
        for anchor in anchors {
            assert!(ids.contains(&anchor), "{anchor}");
        }
    }
}

/// A void cell has no ratio anywhere; a plan that is not the record's gives no plot at all.
#[test]
fn no_number_where_a_rule_fired() {
    let (mut record, files) = series(10);
    let page = review::text(&review::run::page(&record, &Findings::default(), &files, ""), PLAIN);
    let void = page.lines().find(|line| line.contains("c32") && line.contains("VOID")).unwrap();
    assert!(void.contains("no number"), "{void}");
    assert!(page.contains("DISCARD"));
    if let Some(series) = &mut record.series {
        series.plan_sha256 = "0".repeat(64);
    }
    let html = review::html(&review::run::page(&record, &Findings::default(), &files, ""));
    assert!(html.contains("plan.json hashes to") && !html.contains("<figure"));
}

/// The figure of an id.
fn figure(page: &Page, id: &str) -> Figure {
    fn find<'p>(blocks: &'p [Block], id: &str) -> Option<&'p Figure> {
        blocks.iter().find_map(|block| match block {
            Block::Figure(figure) => Some(&**figure).filter(|figure| figure.id == id),
            Block::Beside(figures) => figures.iter().find(|figure| figure.id == id),
            Block::Fold(fold) => find(&fold.blocks, id),
            _ => None,
        })
    }
    let found = page.sections.iter().find_map(|section| find(&section.blocks, id));
    found.unwrap_or_else(|| panic!("{id} is not on the page")).clone()
}

/// A cell of the first row that begins so.
fn told(figure: &Figure, row: &[&str], column: usize) -> String {
    let is = |cells: &&Vec<Cell>| cells.iter().zip(row).all(|(cell, wanted)| cell.text == *wanted);
    figure.table.rows.iter().find(is).unwrap()[column].text.clone()
}

/// The leg of `change` at c32 in block 2 broke V-FAILED: its values are in no median and no share, its time is marked.
#[test]
fn a_leg_that_broke_a_rule_is_a_mark_without_a_value() {
    let page = series_page(10);
    for id in ["ttft", "tpot"] {
        assert_eq!(told(&figure(&page, id), &["change", "32"], 3), "9", "{id}");
        assert_eq!(told(&figure(&page, id), &["main", "32"], 3), "10", "{id}");
    }
    assert_eq!(told(&figure(&page, "ecdf-2"), &["change"], 1), "9");
    let clock = figure(&page, "clock");
    let values: usize =
        clock.table.rows.iter().map(|row| row[1].text.parse::<usize>().unwrap()).sum();
    assert_eq!(values, 89);
    let marked =
        clock.chart.layers.iter().find(|layer| layer.name.starts_with("V-FAILED")).unwrap();
    // Leg 65 of 90, 31.5 s each: cells of 30 legs, blocks of 3, `change` second.
    let Shape::Marks(_, marks) = &marked.shape else { panic!("{marked:?}") };
    assert_eq!(marks.len(), 1);
    assert!((marks[0].0 - 65.0 * 31.5 / 60.0).abs() < 1e-9, "{marks:?}");
}

/// Of 8 requests a leg the last did not end well, and the leg of `change` at c32 in block 2 broke a rule: 10 legs of 7, and 9.
#[test]
fn requests_of_valid_legs_that_ended_well_are_shares() {
    let page = series_page(10);
    for id in ["ttft", "tpot", "e2e"] {
        let at_c32 = figure(&page, &format!("requests-c32-{id}"));
        let counted = |arm: &str| (told(&at_c32, &[arm], 1), told(&at_c32, &[arm], 2));
        assert_eq!(counted("main"), ("10".to_owned(), "70".to_owned()), "{id}");
        assert_eq!(counted("change"), ("9".to_owned(), "63".to_owned()), "{id}");
        assert_eq!(told(&at_c32, &["main"], 6), "n/a (needs 368)", "p99");
        let Shape::Line { points, .. } = &at_c32.chart.layers[0].shape else { panic!() };
        assert_eq!((points.len(), points[139].1), (140, 1.0));
        assert!(points[0].0 > 1.0, "{id}: the failed request was the fastest");
    }
}

/// A spin is three samples of 100 ms that end where the load begins, 1.5 s into the leg, and three that end at 22 s; the first leg began
/// at 31.5 s. What a GPU did not tell is not drawn.
#[test]
fn samples_under_the_legs_lie_in_time() {
    let page = series_page(10);
    let marks = |id: &str, name: &str| {
        let figure = figure(&page, id);
        let layer = figure.chart.layers.iter().find(|layer| layer.name.starts_with(name)).unwrap();
        match &layer.shape {
            Shape::Marks(_, points) | Shape::Spans(_, points) => points.clone(),
            other => panic!("{other:?}"),
        }
    };
    let spins = marks("spins", "main: spin");
    assert_eq!(spins.len(), 30 * 6);
    for (found, at_s) in spins.iter().zip([1.2, 1.3, 1.4, 21.7, 21.8, 21.9]) {
        assert!((found.0 * 60.0 - (31.5 + at_s)).abs() < 1e-9, "{found:?}");
        assert!((found.1 - 1e3 / 1.6).abs() < 10.0, "{found:?}");
    }
    assert_eq!(marks("spins", "main: load")[0], ((31.5 + 1.5) / 60.0, (31.5 + 21.5) / 60.0));
    assert_eq!(marks("sm-clock", "GPU 1").len(), 90 * 4);
    assert_eq!(marks("power", "GPU 0").len(), 90 * 4);
    let power = figure(&page, "power");
    assert!(power.chart.layers.iter().all(|layer| !layer.name.starts_with("GPU 1")));
}

/// Nothing is drawn of what is not there, and the page says why it is not.
#[test]
fn absent_samples_are_told() {
    let (mut record, mut files) = series(2);
    let made = |record: &Record, files: &[File]| {
        review::text(&review::run::page(record, &Findings::default(), files, ""), PLAIN)
    };
    let file = files.iter_mut().find(|file| file.name == "around.json.gz").unwrap();
    let around = String::from_utf8(unpack(&file.name, &file.bytes).unwrap().into_owned()).unwrap();
    let mut around: serde_json::Value = serde_json::from_str(&around).unwrap();
    for leg in around.as_object_mut().unwrap().values_mut() {
        leg["gpus"] = serde_json::json!([]);
    }
    file.bytes = pack(&file.name, around.to_string().as_bytes());
    assert!(made(&record, &files).contains("SM clock and power: n/a (no GPU samples)"));
    files.retain(|file| !["requests.json.gz", "around.json.gz"].contains(&file.name.as_str()));
    let text = made(&record, &files);
    assert!(text.contains("n/a (this record keeps no requests.json.gz)"), "{text}");
    assert!(text.contains("and power: n/a (this record keeps no around.json.gz)"), "{text}");
    let (sha256, name) = ("0".repeat(64), "requests.json.gz".to_owned());
    let path = format!("evidence/{sha256}.gz");
    record.evidence.push(Evidence { name, path, sha256, bytes: 1, external: true });
    assert!(made(&record, &files).contains("n/a (requests.json.gz is not on this machine)"));
}

/// An arm that does not answer right has no latency, however fast it is.
#[test]
fn an_arm_against_which_a_rule_stands_has_no_value() {
    let (record, mut files) = series(10);
    let correct = files.iter_mut().find(|file| file.name == "correct.json").unwrap();
    correct.bytes = String::from_utf8(correct.bytes.clone())
        .unwrap()
        .replace("left-out", "change")
        .into_bytes();
    let page = review::run::page(&record, &Findings::default(), &files, "");
    for id in ["ttft", "tpot"] {
        let rows = figure(&page, id).table.rows;
        assert!(!rows.is_empty() && rows.iter().all(|row| row[0].text != "change"), "{id}");
    }
    for id in ["requests-c1-ttft", "requests-c8-e2e"] {
        let arms = figure(&page, id).table.rows.into_iter().map(|row| row[0].text.clone());
        assert_eq!(arms.collect::<Vec<_>>(), ["main", "main-null"], "{id}");
    }
}

/// Of two legs, 10 ms and 13 ms.
#[test]
fn a_median_of_an_even_count_lies_between() {
    let (record, mut files) = series(2);
    let outcome = |tpot: f64| serde_json::json!({ "at_s": 1.0, "ended": { "measured": { "tpot_ms_p50": tpot } }, "clock": null });
    let outcomes = serde_json::json!({ "s1.c1.b001.0.main": outcome(10.0), "s1.c1.b002.0.main": outcome(13.0) });
    let file = files.iter_mut().find(|file| file.name == "outcomes.json.gz").unwrap();
    file.bytes = pack(&file.name, outcomes.to_string().as_bytes());
    let page = review::run::page(&record, &Findings::default(), &files, "");
    assert_eq!(told(&figure(&page, "tpot"), &["main", "1"], 2), "11.5");
}

/// A pair of equals whose clocks lie apart is as much a DISCARD as one of the comparison, and no ratio is told of either.
#[test]
fn null_pairs_with_clocks_apart_are_discarded() {
    let page = series_page(10);
    let null = figure(&page, "null-0");
    let block = fixture_series::NULL_APART.to_string();
    assert_eq!(told(&null, &[&block], 4), "–");
    assert_eq!(told(&null, &[&block], 5), "DISCARD");
    let count = |name: &str| {
        let layer = null.chart.layers.iter().find(|layer| layer.name.starts_with(name)).unwrap();
        let Shape::Marks(_, marks) = &layer.shape else { panic!("{layer:?}") };
        marks.len()
    };
    assert_eq!((count("pair of equals"), count("DISCARD")), (9, 1));
    let pairs = figure(&page, "pairs-1");
    assert_eq!(pairs.table.rows.iter().filter(|row| row[4].text == "–").count(), 2);
}

/// The words of a record that its evidence contradicts are not printed as words.
#[test]
fn a_contradicted_word_is_not_printed() {
    let findings =
        Findings { differences: vec!["the record has another word".into()], ..findings() };
    let page = review::run::page(&record(), &findings, &[], "");
    let html = review::html(&page);
    assert!(!html.contains("class=\"word\"") && html.contains("the record has another word"));
    // Neither its word, reason and numbers, nor those that its evidence gives: one of the two is wrong.
    for said in
        ["PASS", "VOID", "3/3 exact", "exact_cases", "3 cases", "near tie", "V-PIN", "llamacpp-cpu"]
    {
        assert!(!html.contains(said) && !review::text(&page, PLAIN).contains(said), "{said}");
    }
    let refused = review::html(&review::refusal("x", &["evidence/a: changed".into()]));
    assert!(refused.contains("evidence/a: changed") && !refused.contains("class=\"word\""));
    assert!(!refused.contains("PASS"));
}

/// One thing of a record of a series changed.
type Change = fn(&mut Record);

fn first(record: &mut Record) -> &mut CellVerdict {
    &mut record.series.as_mut().unwrap().cells[0]
}

/// A series of which only some cells of the plan were measured: three words of twelve.
fn sitting() -> (Record, Vec<File>) {
    let (mut record, mut files) = series(10);
    record.verdict.reason = record.verdict.reason.replace("3 words:", "3 words of 12:");
    let report = files.iter_mut().find(|file| file.name == "report.json").unwrap();
    let mut value: serde_json::Value = serde_json::from_slice(&report.bytes).unwrap();
    value["tests"] = 12.into();
    report.bytes = value.to_string().into_bytes();
    (record, files)
}

/// What a series' record says otherwise than its `report.json` is named by cell and field, and no word of it is printed: of what
/// `grid` wrote itself and of what was made up for these tests.
#[test]
fn a_series_that_its_report_contradicts_has_no_word() {
    let changes: [(&str, Change); 12] = [
        ("ratio", |r| first(r).ratio.as_mut().unwrap().estimate += 0.0001),
        ("ratio", |r| first(r).ratio.as_mut().unwrap().low -= 0.0001),
        ("ratio", |r| first(r).ratio = None),
        ("medians", |r| first(r).medians.as_mut().unwrap().subject *= 1.01),
        ("word", |r| first(r).word = "EQUIVALENT".into()),
        ("reason", |r| first(r).reason = first(r).reason.replacen("1.0", "1.2", 1)),
        ("metric", |r| first(r).metric = "ttft_ms_p50".into()),
        ("the word of all", |r| r.verdict.word = VerdictWord::Pass),
        ("the rules of all", |r| r.verdict.rules.clear()),
        ("the reason of all", |r| {
            r.verdict.reason = r.verdict.reason.replacen("IMPROVED", "PASS", 1);
        }),
        ("a measured ratio", |r| {
            r.measurements.push(Measurement::new(Metric::Ratio, Statistic::Median, 10, Some(1.2)));
        }),
        ("the number of words", |r| drop(r.series.as_mut().unwrap().cells.pop())),
    ];
    for (record, files) in [recorded(), series(10), sitting()] {
        let page = |record: &Record, files: &[File]| {
            review::html(&review::run::page(record, &Findings::default(), files, ""))
        };
        assert!(page(&record, &files).contains("class=\"word\""));
        for (field, change) in changes {
            let mut changed = record.clone();
            change(&mut changed);
            let html = page(&changed, &files);
            assert!(
                html.contains(&format!("{field}: the record says otherwise than report.json")),
                "{field}"
            );
            for word in ["class=\"word\"", "IMPROVED", "VOID", "1.06", "<figure"] {
                assert!(!html.contains(word), "{field}: {word}");
            }
        }
        // The other way round: one digit of the evidence.
        let mut flipped = files.clone();
        let report = flipped.iter_mut().find(|file| file.name == "report.json").unwrap();
        let mut value: serde_json::Value = serde_json::from_slice(&report.bytes).unwrap();
        let estimate =
            &mut value["verdicts"][0]["judged"]["compared"]["time"]["primary"]["estimate"];
        *estimate = (estimate.as_f64().unwrap() + 1e-4).into();
        report.bytes = value.to_string().into_bytes();
        assert!(page(&record, &flipped).contains("ratio: the record says otherwise"));
    }
}

/// No judge of a grid is asked for a page, and the page says so with the command that asks one.
#[test]
fn a_page_of_a_series_says_that_its_words_are_as_recorded() {
    let (record, mut files) = recorded();
    let said =
        |files: &[File]| review::html(&review::run::page(&record, &Findings::default(), files, ""));
    let html = said(&files);
    files.retain(|file| file.name != "report.json");
    let without = said(&files);
    let command = format!("grid recheck {}", record.id);
    for html in [&html, &without] {
        assert!(html.contains("These words are as recorded") && html.contains(&command));
    }
    assert!(html.contains("each is that of report.json"));
    assert!(without.contains("report.json is not here, so they were held against nothing"));
}

#[test]
fn a_thousand_pairs_are_a_small_page() {
    let (record, files) = series(1000);
    let html = review::html(&review::run::page(&record, &Findings::default(), &files, ""));
    assert!(html.len() < 4 << 20, "{} bytes", html.len());
    let elements = html.matches("<circle").count()
        + html.matches("<path").count()
        + html.matches("<line").count();
    assert!(elements < 1000, "{elements} elements");
}
