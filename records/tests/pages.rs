//! The pages say what the store says, all of it, in the same bytes each time.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[path = "pages/synthetic.rs"]
mod synthetic;

use std::fs;

use records::gap::worse::{words_of_page, worse};
use records::gap::{Cell, PageError, Word, cells, render_markdown};
use records::pages::{self, ENTRIES, Page};
use records::{Record, Verdict, VerdictWord};

use synthetic::{CELLS, GATES, GRIDS, present, record, store, tracks, write};

fn page<'a>(pages: &'a [Page], path: &str) -> &'a str {
    &pages.iter().find(|page| page.path == path).unwrap().text
}

/// The part of a page behind a heading, up to the next of its kind.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let from = page.split_once(&format!("\n{heading}\n")).unwrap().1;
    from.split("\n##").next().unwrap()
}

/// The pages of these records.
fn all(records: &[Record]) -> Vec<Page> {
    pages::all(&tracks(), &cells(&tracks(), records, &present()), records)
}

#[test]
fn ten_thousand_records_come_out_right() {
    const RECORDS: usize = 10_000;
    let (_dir, store) = store(RECORDS);
    let audit = store.audit().unwrap();
    assert!(audit.defects.is_empty() && audit.absent.is_empty(), "{:?}", audit.defects);
    let mut records: Vec<Record> = audit.records.into_iter().map(|kept| kept.record).collect();
    assert_eq!(records.len(), RECORDS);
    let pages = all(&records);
    assert_eq!(pages.len(), 77);

    // Every record of a gate stands on the page of its track, and on no other.
    let mut rows = 0;
    for track in &tracks().tracks {
        let text = page(&pages, &format!("docs/tracks/{:02}-{}.md", track.row, track.id));
        let expected = records.iter().filter(|r| track.gates.contains(&r.gate)).count();
        let found = text.matches("](../../records/runs/").count();
        assert_eq!(found, expected, "{}", track.id);
        assert_eq!(text.contains("nothing was run"), expected == 0, "{}", track.id);
        rows += found;
    }
    assert_eq!(rows, RECORDS);

    // A grid's track shows the newest valid ratios up to the cap, and says how many more there are.
    let benchmark = page(&pages, pages::BENCHMARK);
    for grid in 0..GRIDS {
        let name = format!("sweep-{grid}");
        let row = GATES + grid + 1;
        let text = section(benchmark, &format!("### {row}. Track {row} (G)"));
        let ratios = records.iter().filter(|r| r.gate == name).count() * (CELLS as usize - 1);
        assert_eq!(text.matches("](../records/runs/").count(), ENTRIES);
        assert!(text.contains(&format!("and {} more: `cargo query", ratios - ENTRIES)));
        let newest = records.iter().rev().find(|r| r.gate == name);
        assert!(text.lines().nth(3).unwrap().contains(&newest.unwrap().id), "newest first");
        assert!(text.contains("| 1.0300 [1.0250, 1.0350] | IMPROVED |"));
        assert!(
            !text.contains("V-CLOCK-OFF") && !text.contains("| c11 |"),
            "a void cell has no number"
        );
    }
    // A gate's newest numbers, one record each that passed; every tenth record is a grid's, so that four gates have none.
    let newest = section(benchmark, "## Newest numbers of gates");
    assert_eq!(newest.matches("startup_ms median").count(), GATES - 4 + GRIDS);

    records.reverse();
    assert_eq!(all(&records), pages, "in whatever order they come");
}

#[test]
fn a_stale_page_is_named_and_so_is_one_of_no_track() {
    let (dir, store) = store(30);
    let records = store.read_all().unwrap();
    let pages = all(&records);
    pages::write(dir.path(), &pages).unwrap();
    assert!(pages::check(dir.path(), &pages).is_empty());

    let root = dir.path().join("docs/tracks");
    fs::write(root.join("README.md"), "written by a person").unwrap();
    fs::write(root.join("76-gone.md"), &pages[3].text).unwrap();
    let stale = root.join("02-track-2.md");
    fs::write(&stale, pages[3].text.replace("PASS", "MET")).unwrap();
    fs::remove_file(dir.path().join(pages::BENCHMARK)).unwrap();
    let found = pages::check(dir.path(), &pages);
    assert!(
        matches!(
            &found[..],
            [
                PageError::Io { path: missing, .. },
                PageError::Stale { path: named, .. },
                PageError::Stray { path: stray },
            ] if missing.ends_with(pages::BENCHMARK) && *named == stale && stray.ends_with("76-gone.md")
        ),
        "{found:?}"
    );

    pages::write(dir.path(), &pages).unwrap();
    assert!(pages::check(dir.path(), &pages).is_empty());
    assert!(root.join("README.md").exists(), "what a person wrote stays");
}

#[test]
fn a_correction_stands_below_what_it_corrects() {
    let (dir, store) = store(0);
    let wrong = write(dir.path(), Record { supersedes: None, ..record(1) });
    let between = Record { gate: "gate-1".into(), ..record(2) };
    write(dir.path(), between);
    let correction = Record {
        gate: "gate-1".into(),
        supersedes: Some(wrong.clone()),
        verdict: Verdict { word: VerdictWord::Fail, rules: vec![], reason: "it was wrong".into() },
        ..record(3)
    };
    write(dir.path(), correction);
    let hollow = Record { gate: "gate-1".into(), supersedes: Some(wrong), ..record(7) };
    write(dir.path(), hollow);
    let pages = all(&store.read_all().unwrap());
    let text = page(&pages, "docs/tracks/02-track-2.md");
    insta::assert_snapshot!("a_track_with_corrections", text);
    let benchmark = page(&pages, pages::BENCHMARK);
    insta::assert_snapshot!("a_benchmark_record_without_the_wrong", benchmark);
}

/// Each cell of a series is judged for itself: a void one beside it takes nothing from it, and a ratio that decides nothing is none.
#[test]
fn a_number_is_valid_by_its_own_cell() {
    let (dir, store) = store(0);
    let mut mixed = record(10);
    mixed.verdict.word = VerdictWord::Void;
    mixed.verdict.rules = vec!["V-FAILED".into()];
    let cells = &mut mixed.series.as_mut().unwrap().cells;
    for (cell, word) in cells.iter_mut().zip(["FAIL", "INCONCLUSIVE", "SOME-LATER-WORD"]) {
        word.clone_into(&mut cell.word);
    }
    cells.drain(4..CELLS as usize - 1);
    write(dir.path(), mixed);
    let pages = all(&store.read_all().unwrap());
    let benchmark = page(&pages, pages::BENCHMARK);
    let row = |cell: &str| benchmark.lines().any(|line| line.contains(&format!("| {cell} |")));
    assert!(row("c0") && row("c3"), "FAIL and IMPROVED are words: {benchmark}");
    for none in ["c1", "c2", "c11"] {
        assert!(
            !row(none),
            "{none}: neither INCONCLUSIVE, nor an unknown word, nor VOID has a number"
        );
    }
}

/// A series that flags narrowed, and a gate that could not say, give no number, and a narrowed series decides no track.
#[test]
fn what_was_narrowed_or_not_established_is_no_number() {
    let (dir, store) = store(0);
    let mut narrowed = record(10);
    narrowed.series.as_mut().unwrap().is_as_declared = false;
    let open = Verdict { word: VerdictWord::NotEstablished, rules: vec![], reason: "few".into() };
    write(dir.path(), Record { gate: "gate-2".into(), verdict: open, ..record(2) });
    let failed = Verdict { word: VerdictWord::Fail, rules: vec![], reason: "slow".into() };
    let gate = Record { gate: "gate-3".into(), verdict: failed, compared: 1, ..record(3) };
    write(dir.path(), gate);
    let name = narrowed.gate.clone();
    write(dir.path(), narrowed);
    let records = store.read_all().unwrap();
    let pages = all(&records);
    let benchmark = page(&pages, pages::BENCHMARK);
    assert!(benchmark.contains("| gate-3 |") && !benchmark.contains("| gate-2 |"), "{benchmark}");
    assert!(!benchmark.contains(&format!("| {name} |")), "{benchmark}");
    assert_eq!(records::gap::passing(&name, &records, &present()).unwrap_err(), "not run");
    let row = GATES + 2;
    let track = page(&pages, &format!("docs/tracks/{row:02}-track-{row}.md"));
    assert!(track.contains("(narrowed by hand, decides nothing)"), "{track}");
}

/// The newer record of a series that became void takes the numbers of the older off the page, unless a hand led it.
#[test]
fn numbers_that_were_taken_back_are_gone() {
    for (info, is_gone) in
        [(serde_json::json!({}), true), (serde_json::json!({ "found_by": "--plumb" }), false)]
    {
        let (dir, store) = store(0);
        let first = record(10);
        let id = write(dir.path(), first.clone());
        let mut again = record(20);
        again.gate.clone_from(&first.gate);
        again.subject.info = info;
        again.supersedes = Some(id);
        again.verdict = Verdict {
            word: VerdictWord::Void,
            rules: vec!["V-CORRECT".into()],
            reason: "a gate fails".into(),
        };
        again.series.as_mut().unwrap().cells.clear();
        write(dir.path(), again);
        let pages = all(&store.read_all().unwrap());
        let benchmark = page(&pages, pages::BENCHMARK);
        assert_eq!(benchmark.contains("None was measured."), is_gone, "{benchmark}");
        let row = GATES + 2;
        let track = page(&pages, &format!("docs/tracks/{row:02}-track-{row}.md"));
        assert_eq!(track.contains("takes the entry above back"), is_gone, "{track}");
    }
}

#[test]
fn words_that_got_worse_are_told() {
    let (_dir, store) = store(200);
    let (gaps, records) = (tracks(), store.read_all().unwrap());
    let before = words_of_page(&render_markdown(&gaps, &records, &present()));
    assert_eq!(before.len(), 75);
    assert_eq!(before[&4], Word::Pass);

    let cells = |records: &[Record]| -> Vec<Cell> { cells(&gaps, records, &present()) };
    let same = cells(&records);
    assert_eq!(worse(&before, &gaps, &same), []);
    assert!(
        pages::summary(&same, Some(("main", &[]))).ends_with("No word got worse since `main`.\n")
    );

    let mut later = records;
    let reason = "3 of 24 differ, 50% more\nthan before: see it".to_owned();
    let verdict = Verdict { word: VerdictWord::Fail, rules: vec![], reason };
    later.push(Record { gate: "gate-3".into(), verdict, compared: 24, ..record(300) });
    let cells = cells(&later);
    let worse = worse(&before, &gaps, &cells);
    insta::assert_snapshot!("summary_of_a_change", pages::summary(&cells, Some(("main", &worse))));
    insta::assert_snapshot!("annotations_of_a_change", pages::annotations(&worse));
}
