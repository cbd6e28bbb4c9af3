//! What a series of interleaved runs adds to the page of a run: the words of its cells, pairs in time order with the null arm
//! beside them, legs, latencies by concurrency, clocks.
//!
//! Words, ratios and rules are the record's. Pairs and clocks are drawn from `plan.json` and `outcomes.json.gz`, intervals of the
//! null arm from `report.json`, what arms have to show from `correct.json`, requests from `requests.json.gz`, what lies within a leg from
//! `around.json.gz`; the page says so where one of them is missing or is of another plan.

mod around;
mod cells;
mod contradiction;
mod correct;
mod latency;
mod pairs;
mod read;
mod requests;
mod timeline;

use super::page::{Block, Cell, Section, Table, Tone};
use super::run::File;
use crate::record::{CellVerdict, Record, Series};
pub(super) use contradiction::contradictions;
use read::Evidence;

/// Its sections.
pub fn sections(record: &Record, series: &Series, files: &[File], base: &str) -> Vec<Section> {
    let texts = read::texts(series, files);
    let evidence = texts
        .as_ref()
        .map_err(String::clone)
        .and_then(|texts| read::evidence(record, files, texts));
    let mut sections =
        vec![cells::section(series, as_recorded(record, files), evidence.as_ref().ok())];
    match &evidence {
        Ok(evidence) => {
            sections.push(derivation(series, evidence));
            sections.extend(pairs::section(series, evidence));
            sections.extend(latency::section(evidence));
            sections.push(requests::section(evidence));
            sections.push(timeline::section(evidence));
            sections.push(correct::section(series, evidence, base));
        }
        Err(why) => {
            let told = format!(
                "No pair can be drawn for {}: {why}. The words above are the record's.",
                record.gate
            );
            let blocks = vec![Block::Note(Tone::Open, told)];
            sections.push(Section::new("pairs", "Pair by pair", None, blocks));
        }
    }
    sections
}

/// Whose words these are: no judge of a grid is asked for a page.
fn as_recorded(record: &Record, files: &[File]) -> String {
    let held = match File::named(files, "report.json") {
        Some(_) => "each is that of report.json",
        None => "report.json is not here, so they were held against nothing",
    };
    format!(
        "These words are as recorded, and no judge was asked again; {held}. `grid recheck {}` derives them from the outcomes.",
        record.id
    )
}

/// What was compared with what, and how often.
pub fn asked(series: &Series) -> String {
    let mut pairs: Vec<String> = Vec::new();
    let mut cells: Vec<&str> = Vec::new();
    for cell in &series.cells {
        let pair = format!("{} against {}", cell.subject, cell.reference);
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
        if !cells.contains(&cell.cell.as_str()) {
            cells.push(&cell.cell);
        }
    }
    format!(
        "{}, in {} pairs beside each other in time, at {}",
        pairs.join("; "),
        series.pairs,
        cells.join(", ")
    )
}

/// How many words of each kind there are, and which of them stands for all.
pub fn why(series: &Series) -> String {
    let mut words: Vec<&str> = series.cells.iter().map(|cell| cell.word.as_str()).collect();
    words.sort_unstable_by_key(|word| gravity(word));
    let mut counts: Vec<(usize, &str)> = Vec::new();
    for word in words {
        match counts.last_mut().filter(|(_, last)| *last == word) {
            Some((count, _)) => *count += 1,
            None => counts.push((1, word)),
        }
    }
    let counted: Vec<String> =
        counts.iter().map(|(count, word)| format!("{count} {word}")).collect();
    format!(
        "{} words were derived: {}. The gravest stands for the series; each has its own reason below.",
        series.cells.len(),
        counted.join(", ")
    )
}

/// What would change the word: of the gravest cell, the sentence that the judge left.
pub fn next(series: &Series) -> String {
    let gravest = series.cells.iter().max_by_key(|cell| gravity(&cell.word));
    gravest.map_or_else(String::new, |cell| match cell.reason.split_once("next: ") {
        Some((_, next)) => format!("{}: {next}", name(cell)),
        None => {
            "A new series: each word is of this plan, these builds and this machine.".to_owned()
        }
    })
}

/// How grave a word of a grid is: the gravest stands for all.
fn gravity(word: &str) -> usize {
    let order =
        ["IMPROVED", "EQUIVALENT", "PASS", "SKIPPED", "INCONCLUSIVE", "VOID", "REGRESSED", "FAIL"];
    order.iter().position(|other| *other == word).unwrap_or(order.len())
}

/// A cell's word in a few words: where, what, who.
fn name(cell: &CellVerdict) -> String {
    format!("{} {} {}/{}", cell.cell, cell.metric, cell.subject, cell.reference)
}

/// The judge's line of a cell without its head, which a page has said already.
fn told(cell: &CellVerdict) -> &str {
    let head = format!("{}: {} ", name(cell), cell.word);
    cell.reason.strip_prefix(&head).unwrap_or(&cell.reason)
}

/// How a series comes to its words.
fn derivation(series: &Series, evidence: &Evidence<'_>) -> Section {
    let plan = &evidence.plan;
    let looks: Vec<String> = plan.looks.iter().map(ToString::to_string).collect();
    let fact = |label: &str, value: String| (label.to_owned(), Cell::new(value));
    let facts = vec![
        fact("arms", evidence.arms.join(", ")),
        fact(
            "null arm",
            format!(
                "{} is {} once more: whatever differs between them is the set-up's",
                plan.null.twin, plan.null.of
            ),
        ),
        fact("pairs of each comparison", series.pairs.to_string()),
        fact("sessions", plan.sessions.to_string()),
        fact("judged after pairs", looks.join(", ")),
        fact(
            "alpha",
            format!(
                "{}, shared among {} words and {} look{}",
                plan.alpha,
                series.cells.len(),
                plan.looks.len(),
                if plan.looks.len() == 1 { "" } else { "s" }
            ),
        ),
        ("plan, SHA-256".to_owned(), Cell::code(&series.plan_sha256)),
    ];
    let mut order = Table::new("In which order a word is found", &["question", "gives"]);
    for (question, word, tone) in [
        ("Does a leg, a clock, a control or the null arm break a rule?", "VOID", Tone::Void),
        ("Is an arm missing?", "SKIPPED", Tone::Plain),
        ("Does the interval lie above what equals show?", "IMPROVED", Tone::Good),
        (
            "Does it lie below the margin, or below what equals show?",
            "FAIL or REGRESSED",
            Tone::Bad,
        ),
        (
            "Does it lie within the margin or the band of equivalence?",
            "PASS or EQUIVALENT",
            Tone::Good,
        ),
        ("None of these: the data do not suffice", "INCONCLUSIVE", Tone::Open),
    ] {
        let word = Cell { text: word.to_owned(), tone: Some(tone), ..Cell::default() };
        order.rows.push(vec![Cell::new(question), word]);
    }
    let lead = "The plan was fixed and hashed before the first run. A pair whose clocks lie more than 1 % apart is a DISCARD: both of its values stand, their ratio does not.";
    Section::new(
        "derivation",
        "How the words are derived",
        Some(lead),
        vec![Block::Table(order), Block::Facts(facts)],
    )
}
