//! A track over time, and all numbers against their own history.

mod points;
pub mod threshold;

use std::collections::BTreeMap;

use super::page::{Block, Cell, Fold, Headline, Page, Section, Table, Tone};
use crate::gap::{Cell as Status, Track};
use crate::number::with_unit;
use crate::record::Record;
use crate::short;
use points::{Series, State};

/// How a threshold comes about, in words.
const RULE: &str = "A threshold is the median of the earlier values ± 3 × 1.4826 × their median absolute deviation (three standard \
    deviations, were they normal), over at least 5 earlier runs of the same gate, spec and machine whose word is neither VOID nor \
    SKIPPED; with fewer none is drawn. A value that was always the same has no spread: any other value is then outside. Outside \
    means moved, not worse: look at what moved it.";

/// The page of a track: what its gates said, run by run, and how their numbers moved.
pub fn track(
    track: &Track,
    status: &Status,
    records: &[Record],
    damaged: &[String],
    base: &str,
) -> Page {
    let mine: Vec<&Record> =
        records.iter().filter(|record| track.gates.contains(&record.gate)).collect();
    let whole = damaged.is_empty();
    let mut sections = Vec::new();
    if !whole {
        sections.push(damage(damaged));
    }
    sections.push(about(track));
    sections.push(words(track, &mine, base));
    sections.extend(numbers(&mine));
    let answers = vec![
        ("What it is about".to_owned(), track.about.clone()),
        ("What would change it".to_owned(), status.next.clone()),
    ];
    Page {
        title: track.title.clone(),
        kicker: format!("Review of track {}, {}", track.row, track.id),
        headline: Headline {
            word: whole.then(|| status.word.as_str().to_owned()),
            tone: if whole { Tone::of(status.word.as_str()) } else { Tone::Void },
            reason: if whole { status.why.clone() } else { REFUSED.to_owned() },
            answers,
            reproduce: track.gates.first().map(|gate| format!("cargo gate run {gate} --live")),
        },
        sections,
        footer: format!(
            "Made from {} of {} records and open-gaps.toml.",
            mine.len(),
            records.len()
        ),
    }
}

const REFUSED: &str = "A record or its evidence is not what was written, and the track's word may rest on it: no word is printed.";

/// The page of all numbers over time.
pub fn regressions(records: &[Record], damaged: &[String]) -> Page {
    let all: Vec<&Record> = records.iter().collect();
    let mut series = points::series(&all);
    series.retain(|series| series.is_current);
    let outside = series.iter().filter(|series| series.state() == State::Outside).count();
    let judged = series.iter().filter(|series| series.state() != State::TooFew).count();
    let mut sections = Vec::new();
    if !damaged.is_empty() {
        sections.push(damage(damaged));
    }
    sections.push(summary(&series));
    let mut gates: BTreeMap<&str, Vec<&Series>> = BTreeMap::new();
    for found in &series {
        gates.entry(&found.gate).or_default().push(found);
    }
    for (gate, series) in gates {
        let blocks = folded(&series);
        if !blocks.is_empty() {
            sections.push(Section::new(&format!("gate-{gate}"), gate, None, blocks));
        }
    }
    let (sentence, tone) = if outside == 0 {
        (
            format!(
                "The newest value of each of {judged} measurements lies within its own history."
            ),
            Tone::Good,
        )
    } else {
        (
            format!(
                "{outside} of {judged} measurements have left their own history with their newest value."
            ),
            Tone::Open,
        )
    };
    let (sentence, tone) = if damaged.is_empty() {
        (sentence, tone)
    } else {
        (format!("{DAMAGED} Of the rest: {sentence}"), Tone::Void)
    };
    Page {
        title: "Numbers over time".to_owned(),
        kicker: "Review of all gates".to_owned(),
        headline: Headline {
            word: None,
            tone,
            reason: sentence,
            answers: vec![
                ("The rule".to_owned(), RULE.to_owned()),
                (
                    "Not judged".to_owned(),
                    format!(
                        "{} measurements have fewer than 5 earlier runs on one machine under one spec.",
                        series.len() - judged
                    ),
                ),
            ],
            reproduce: None,
        },
        sections,
        footer: format!("Made from {} records.", records.len()),
    }
}

const DAMAGED: &str = "Records or their evidence are not what was written, and are left out.";

fn damage(damaged: &[String]) -> Section {
    let mut table = Table::new("Files that are not what was written", &["defect"]);
    table.rows = damaged.iter().map(|defect| vec![Cell::code(defect)]).collect();
    Section::new(
        "damage",
        "Damaged records and evidence",
        Some(
            "Nothing on this page was read from them, nor from a record whose evidence is among them.",
        ),
        vec![Block::Table(table)],
    )
}

fn about(track: &Track) -> Section {
    let mut facts = vec![("gates".to_owned(), Cell::code(joined(&track.gates)))];
    let mut add = |label: &str, value: Option<&String>| {
        facts.extend(value.map(|value| (label.to_owned(), Cell::new(value))));
    };
    add("missing", track.missing.as_ref());
    add("waits for", track.waits_for.as_ref());
    add("hardware of the original", track.hardware.as_ref());
    add("shown on", track.twin.as_ref());
    add("why no number is owed", track.no_number_owed.as_ref());
    add("claimed by others, not by us", track.foreign_claim.as_ref());
    if !track.planned.is_empty() {
        facts.push(("planned gates".to_owned(), Cell::code(joined(&track.planned))));
    }
    Section::new("track", "The track", None, vec![Block::Facts(facts)])
}

fn joined(names: &[String]) -> String {
    if names.is_empty() { "none yet".to_owned() } else { names.join(", ") }
}

fn words(track: &Track, records: &[&Record], base: &str) -> Section {
    if records.is_empty() {
        let none = Block::Text(
            "No gate of this track has a record: nothing was run, nothing is claimed.".to_owned(),
        );
        return Section::new("history", "Word by word", None, vec![none]);
    }
    let mut blocks: Vec<Block> = points::words(&track.gates, records)
        .map(|figure| Block::Figure(Box::new(figure)))
        .into_iter()
        .collect();
    let mut table = Table::new(
        "Every record, newest first",
        &["when, UTC", "gate", "word", "commit", "why", "record"],
    );
    for record in records.iter().rev() {
        table.rows.push(vec![
            Cell::new(record.opened()),
            Cell::code(&record.gate),
            Cell::word(record.verdict.word.as_str()),
            Cell::code(
                record
                    .subject
                    .commit
                    .as_deref()
                    .map_or("not said", |commit| commit.get(..8).unwrap_or(commit)),
            ),
            Cell::new(&record.verdict.reason),
            Cell::code(record.id.rsplit('-').next().map_or("", short))
                .to(format!("{base}runs/{}.json", record.id)),
        ]);
    }
    blocks.push(Block::Table(table));
    let lead = "A word is of its own day: it lapses when what it was earned on moves, and the line at the top is what is left of all of them.";
    Section::new("history", "Word by word", Some(lead), blocks)
}

/// The numbers of a track's gates over time.
fn numbers(records: &[&Record]) -> Option<Section> {
    let series = points::series(records);
    let all: Vec<&Series> = series.iter().collect();
    let blocks = folded(&all);
    (!blocks.is_empty()).then(|| Section::new("numbers", "Number by number", Some(RULE), blocks))
}

/// What was measured more than once: what left its history openly, the rest on demand.
fn folded(series: &[&Series]) -> Vec<Block> {
    let shown = || series.iter().filter(|series| series.points.len() > 1);
    let block = |series: &&Series| {
        let figure = vec![Block::Figure(Box::new(series.figure()))];
        let open = series.is_current && series.state() == State::Outside;
        let summary = format!("{} {}: {}", series.gate, series.label, series.sentence());
        Block::Fold(Fold { summary, open, blocks: figure })
    };
    let current = shown().filter(|series| series.is_current);
    let mut blocks: Vec<Block> = current.map(&block).collect();
    let earlier: Vec<Block> = shown().filter(|series| !series.is_current).map(block).collect();
    if !earlier.is_empty() {
        let summary =
            format!("{} histories under an earlier spec or on another machine", earlier.len());
        blocks.push(Fold::closed(summary, earlier));
    }
    blocks
}

fn summary(series: &[Series]) -> Section {
    let mut table = Table::new(
        "The newest value of every measurement",
        &["gate", "measurement", "newest#", "median of earlier#", "threshold#", "runs#", "state"],
    );
    let mut ordered: Vec<&Series> =
        series.iter().filter(|series| series.state() != State::TooFew).collect();
    ordered.sort_by_key(|series| series.state() != State::Outside);
    for found in ordered {
        let value = |value: f64| with_unit(value, &found.unit);
        let Some(last) = found.points.last() else { continue };
        let (median, threshold) = last.threshold.map_or_else(
            || ("–".to_owned(), "–".to_owned()),
            |threshold| (value(threshold.median), format!("± {}", value(threshold.half_width))),
        );
        table.rows.push(vec![
            Cell::code(&found.gate),
            Cell::code(&found.label),
            Cell::new(value(last.value)),
            Cell::new(median),
            Cell::new(threshold),
            Cell::new(found.points.len().to_string()),
            found.state().cell(),
        ]);
    }
    Section::new("summary", "At a glance", None, vec![Block::Table(table)])
}
