//! `docs/benchmark-record.md`: every valid speed number, by track.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::markdown::{Corrections, date, link, sources};
use crate::gap::OpenGaps;
use crate::gap::page::{GENERATED, format_row, letter};
use crate::gap::state::by_hand;
use crate::number::{ratio_within, with_unit};
use crate::record::{CellVerdict, ESTABLISHED, RatioInterval, Record, VerdictWord};

/// The most numbers of one track on the page: a sweep of six concurrencies over five axes, twice. The rest is a query away.
pub const ENTRIES: usize = 60;
/// How many folders the page lies below the root.
const DEPTH: usize = 1;

/// A ratio with the record and the cell it stands in.
type Number<'a> = (&'a Record, &'a CellVerdict, RatioInterval);

/// The page, from records in the order of time.
pub(super) fn render(
    gaps: &OpenGaps,
    records: &[&Record],
    corrections: &Corrections<'_>,
) -> String {
    let mut page = format!(
        "{GENERATED}\n\n\
         # Benchmark record\n\n\
         Every valid speed number of the store, newest first: of a gate that said PASS or FAIL, and of each cell of a series whose own\n\
         word is established, whatever the cells beside it say. None of a run that was corrected since, of a binary or an oracle named\n\
         by hand, or of a series that is not as its spec declares it. A ratio is subject over reference with its interval; it speaks of\n\
         the sources it was measured at, and [open-gaps.md](open-gaps.md) says what still holds. All of it, as a table: `cargo query`.\n"
    );
    let counts = |record: &&Record| !corrections.is_wrong(record) && by_hand(record).is_none();
    let counting: Vec<&Record> = records.iter().rev().copied().filter(counts).collect();
    let mut by_gate: BTreeMap<&str, Vec<Number<'_>>> = BTreeMap::new();
    for record in &counting {
        let cells = record.series.iter().flat_map(|series| &series.cells);
        let numbers = cells.filter_map(|cell| Some((*record, cell, cell.valid_ratio()?)));
        by_gate.entry(&record.gate).or_default().extend(numbers);
    }
    by_gate.retain(|_, numbers| !numbers.is_empty());
    page.push_str("\n## Ratios by track\n");
    if by_gate.is_empty() {
        page.push_str("\nNone was measured.\n");
    }
    let mut told = BTreeSet::new();
    for track in &gaps.tracks {
        let gates: BTreeSet<&str> = track.all_gates().filter(|g| by_gate.contains_key(g)).collect();
        if gates.is_empty() {
            continue;
        }
        let _ = write!(page, "\n### {}. {} ({})\n", track.row, track.title, letter(track));
        page.push_str(&table(&by_gate, &gates));
        told.extend(gates);
    }
    let rest: BTreeSet<&str> =
        by_gate.keys().copied().filter(|gate| !told.contains(gate)).collect();
    if !rest.is_empty() {
        page.push_str("\n### Of no track\n");
        page.push_str(&table(&by_gate, &rest));
    }
    page.push_str(&newest(&counting));
    page
}

/// The ratios of some gates, newest first, up to the cap; then how many more there are and how to see them.
fn table(by_gate: &BTreeMap<&str, Vec<Number<'_>>>, gates: &BTreeSet<&str>) -> String {
    let mut numbers: Vec<Number<'_>> =
        gates.iter().filter_map(|gate| by_gate.get(gate)).flatten().copied().collect();
    // Stable: the cells of a record keep their order.
    numbers.sort_by(|(a, ..), (b, ..)| (b.started_at, &b.id).cmp(&(a.started_at, &a.id)));
    let mut text = String::from(
        "\n| Date (UTC) | Grid | Cell | Subject / reference | Metric | Ratio [interval] | Word | Sources | Record |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (record, cell, ratio) in numbers.iter().take(ENTRIES) {
        text.push_str(&format_row(&[
            &date(record),
            &record.gate,
            &cell.cell,
            &format!("{} / {}", cell.subject, cell.reference),
            &cell.metric,
            &interval(*ratio),
            &cell.word,
            &sources(record),
            &link(record, DEPTH),
        ]));
    }
    let more = numbers.len().saturating_sub(ENTRIES);
    if more > 0 {
        let names: Vec<String> = gates.iter().map(|gate| format!("'{gate}'")).collect();
        let words = ESTABLISHED.map(|word| format!("'{word}'"));
        let _ = write!(
            text,
            "\nand {more} more: `cargo query \"SELECT started_at, gate, cell, subject, reference, metric, ratio, low, high, word, \
             run FROM cells WHERE gate IN ({}) AND word IN ({}) ORDER BY started_at DESC\"`\n",
            names.join(", "),
            words.join(", ")
        );
    }
    text
}

fn interval(ratio: RatioInterval) -> String {
    ratio_within(ratio.estimate, ratio.low, ratio.high)
}

/// The speed numbers of each gate's newest record that said PASS or FAIL and has some; the records come newest first.
fn newest(records: &[&Record]) -> String {
    let mut text = String::from("\n## Newest numbers of gates\n");
    let mut seen: BTreeMap<&str, &Record> = BTreeMap::new();
    let has_speed = |record: &Record| {
        matches!(record.verdict.word, VerdictWord::Pass | VerdictWord::Fail)
            && record.measurements.iter().any(|m| m.metric.is_speed() && m.value.is_some())
    };
    for record in records.iter().filter(|record| has_speed(record)) {
        seen.entry(&record.gate).or_insert(record);
    }
    if seen.is_empty() {
        text.push_str("\nNone was measured.\n");
        return text;
    }
    text.push_str(
        "\n| Gate | Date (UTC) | Metric | Value | n | Word | Sources | Record |\n|---|---|---|--:|--:|---|---|---|\n",
    );
    for record in seen.values() {
        for measurement in record.measurements.iter().filter(|m| m.metric.is_speed()) {
            let Some(value) = measurement.value else { continue };
            text.push_str(&format_row(&[
                &record.gate,
                &date(record),
                &format!("{} {}", measurement.metric.name(), measurement.statistic.name()),
                &with_unit(value, &measurement.unit),
                &measurement.n.to_string(),
                record.verdict.word.as_str(),
                &sources(record),
                &link(record, DEPTH),
            ]));
        }
    }
    text
}
