//! Pairs in order of time, the null arm beside them, and the legs that they are made of.

use std::collections::BTreeMap;

use super::name;
use super::read::{Discard, Evidence, Interval, Leg, Outcome};
use crate::record::{CellVerdict, Series};
use crate::review::chart::{Axis, Chart, Hue, Layer, Mark, Shape};
use crate::review::number::digits;
use crate::review::page::{Block, Cell, Figure, Fold, Section, Table, Tone};

/// Words whose plots are open from the start.
const OPEN: usize = 2;

/// One pair: when its first leg began, the turned ratio, and both values as measured.
struct Pair {
    block: u64,
    at_s: f64,
    ratio: f64,
    reference: f64,
    subject: f64,
}

pub(super) fn section(series: &Series, evidence: &Evidence) -> Option<Section> {
    let mut blocks = Vec::new();
    for (place, cell) in series.cells.iter().enumerate() {
        let pairs = pairs(evidence, cell, &cell.reference, &cell.subject);
        if pairs.is_empty() {
            continue;
        }
        let legs = Block::Figure(Box::new(ecdf(cell, evidence, place)));
        let inner = if cell.rules.is_empty() {
            let null = &evidence.plan.null;
            let nulls = self::pairs(evidence, cell, &null.of, &null.twin);
            let ratios = vec![
                timed(cell, evidence, &pairs, &nulls, place),
                null_arm(cell, evidence, &pairs, &nulls, place),
            ];
            vec![Block::Beside(ratios), legs]
        } else {
            // Where a rule fired there is no ratio: not of the whole, and not of a pair.
            let told = format!(
                "{} fired: no ratio is drawn. The legs stand as they were measured.",
                cell.rules.join(", ")
            );
            vec![Block::Note(Tone::Void, told), legs]
        };
        let summary = format!("{}: {}, {} pairs", name(cell), cell.word, pairs.len());
        blocks.push(Block::Fold(Fold { summary, open: place < OPEN, blocks: inner }));
    }
    let lead = "Each mark is one pair: the subject's run over the reference's beside it in time, turned so that above 1 is better.";
    (!blocks.is_empty()).then(|| Section::new("pairs", "Pair by pair", Some(lead), blocks))
}

/// The runs of an arm at a cell, by block.
fn runs<'e>(
    evidence: &'e Evidence,
    cell: &str,
    arm: &str,
) -> BTreeMap<u64, (&'e Leg, &'e Outcome)> {
    let legs = evidence.plan.legs.iter();
    let measured = legs.filter(|leg| leg.cell == cell && leg.arm == arm && leg.role == "measured");
    measured.filter_map(|leg| Some((leg.block?, (leg, evidence.outcomes.get(&leg.id)?)))).collect()
}

fn pairs(evidence: &Evidence, cell: &CellVerdict, reference: &str, subject: &str) -> Vec<Pair> {
    let turned = evidence.plan.is_turned(&cell.metric);
    let subjects = runs(evidence, &cell.cell, subject);
    let pair = |(block, (_, outcome)): (u64, (&Leg, &Outcome))| {
        let (_, beside) = subjects.get(&block)?;
        let (reference, subject) = (outcome.metric(&cell.metric)?, beside.metric(&cell.metric)?);
        let ratio = if turned { reference / subject } else { subject / reference };
        Some(Pair { block, at_s: outcome.at_s.min(beside.at_s), ratio, reference, subject })
    };
    let mut pairs: Vec<Pair> =
        runs(evidence, &cell.cell, reference).into_iter().filter_map(pair).collect();
    pairs.sort_unstable_by(|a, b| a.at_s.total_cmp(&b.at_s));
    pairs
}

/// One scale for both, so that the eye may compare them.
fn scale(pairs: &[Pair], nulls: &[Pair]) -> Axis {
    let ratios = pairs.iter().chain(nulls).map(|pair| pair.ratio).chain([1.0]);
    Axis::around("ratio, above 1 is better", ratios, 0.12)
}

fn points(pairs: &[Pair], wanted: impl Fn(&Pair) -> bool) -> Vec<(f64, f64)> {
    pairs.iter().filter(|pair| wanted(pair)).map(|pair| (pair.at_s / 60.0, pair.ratio)).collect()
}

fn minutes(pairs: &[Pair], nulls: &[Pair]) -> Axis {
    Axis::around(
        "minutes since the series began",
        pairs.iter().chain(nulls).map(|pair| pair.at_s / 60.0),
        0.04,
    )
}

/// The pairs of a comparison with the interval that decides.
fn timed(
    cell: &CellVerdict,
    evidence: &Evidence,
    pairs: &[Pair],
    nulls: &[Pair],
    place: usize,
) -> Figure {
    let discarded: Vec<u64> = evidence
        .compared::<Vec<Discard>>(cell, "discarded")
        .unwrap_or_default()
        .iter()
        .map(|discard| discard.block)
        .collect();
    let is_discarded = |pair: &Pair| discarded.contains(&pair.block);
    let mut layers = Vec::new();
    // Only the record may say a ratio: where a rule fired it has none, and none is drawn.
    if let Some(ratio) = cell.ratio {
        layers.push(Layer::new("interval", Hue::Blue, Shape::Band(ratio.low, ratio.high)));
        layers.push(Layer::new(
            "estimate",
            Hue::Blue,
            Shape::Level { dashed: false, at: ratio.estimate },
        ));
    }
    layers.push(Layer::new("the same", Hue::Ink, Shape::Level { dashed: true, at: 1.0 }));
    layers.push(Layer::new(
        "pair",
        Hue::Blue,
        Shape::Marks(Mark::Dot, points(pairs, |pair| !is_discarded(pair))),
    ));
    // Both values of such a pair stand, their ratio does not: only its time is marked, at the foot.
    let foot = scale(pairs, nulls).range;
    let foot = foot.0 + (foot.1 - foot.0) * 0.03;
    let apart: Vec<(f64, f64)> =
        points(pairs, is_discarded).into_iter().map(|(minute, _)| (minute, foot)).collect();
    if !apart.is_empty() {
        layers.push(Layer::new(
            "DISCARD: clocks apart, no ratio",
            Hue::Orange,
            Shape::Marks(Mark::Bar, apart),
        ));
    }
    let said = cell.ratio.map_or_else(
        || format!("{}: no ratio is said", cell.word),
        |ratio| {
            format!(
                "{}: {:.4}, interval {:.4} to {:.4}",
                cell.word, ratio.estimate, ratio.low, ratio.high
            )
        },
    );
    Figure {
        id: format!("pairs-{place}"),
        title: format!("{} over {}", cell.subject, cell.reference),
        description: format!(
            "{} pairs of {} at {}; {said}. {} are DISCARD.",
            pairs.len(),
            cell.metric,
            cell.cell,
            discarded.len()
        ),
        chart: Chart { x: minutes(pairs, nulls), y: scale(pairs, nulls), layers },
        table: table(pairs, &discarded, &cell.reference, &cell.subject),
    }
}

/// The null arm: the same against itself.
fn null_arm(
    cell: &CellVerdict,
    evidence: &Evidence,
    pairs: &[Pair],
    nulls: &[Pair],
    place: usize,
) -> Figure {
    let null = &evidence.plan.null;
    let interval: Option<Interval> = evidence.compared(cell, "null");
    let ends = interval.and_then(|found| Some((found.lower?.exp(), found.upper?.exp())));
    let mut layers = Vec::new();
    if let Some((low, high)) = ends {
        layers.push(Layer::new("interval", Hue::Faint, Shape::Band(low, high)));
    }
    layers.push(Layer::new("the same", Hue::Ink, Shape::Level { dashed: true, at: 1.0 }));
    layers.push(Layer::new(
        "pair of equals",
        Hue::Green,
        Shape::Marks(Mark::Cross, points(nulls, |_| true)),
    ));
    let said =
        ends.map_or_else(String::new, |(low, high)| format!(", interval {low:.4} to {high:.4}"));
    Figure {
        id: format!("null-{place}"),
        title: "Null arm: the same against itself".to_owned(),
        description: format!(
            "{} pairs of {} over {}{said}: what the set-up shows between equals.",
            nulls.len(),
            null.twin,
            null.of
        ),
        chart: Chart { x: minutes(pairs, nulls), y: scale(pairs, nulls), layers },
        table: table(nulls, &[], &null.of, &null.twin),
    }
}

fn table(pairs: &[Pair], discarded: &[u64], reference: &str, subject: &str) -> Table {
    let titles = [format!("{reference}#"), format!("{subject}#")];
    let mut table = Table::new(
        "Pairs in order of time",
        &["pair#", "began, s#", &titles[0], &titles[1], "ratio#", ""],
    );
    for pair in pairs {
        let is_discarded = discarded.contains(&pair.block);
        table.rows.push(vec![
            Cell::new(pair.block.to_string()),
            Cell::new(format!("{:.0}", pair.at_s)),
            Cell::new(digits(pair.reference)),
            Cell::new(digits(pair.subject)),
            Cell::new(if is_discarded { "–".to_owned() } else { format!("{:.4}", pair.ratio) }),
            if is_discarded { Cell::word("DISCARD") } else { Cell::default() },
        ]);
    }
    table
}

/// The legs of all arms at a cell, as shares at or below a value.
fn ecdf(cell: &CellVerdict, evidence: &Evidence, place: usize) -> Figure {
    let mut layers = Vec::new();
    let mut table = Table::new("Legs", &["arm", "legs#", "least#", "median#", "largest#"]);
    let mut all = Vec::new();
    for (at, arm) in evidence.plan.arms().into_iter().enumerate() {
        let mut values: Vec<f64> = runs(evidence, &cell.cell, arm)
            .values()
            .filter_map(|(_, outcome)| outcome.metric(&cell.metric))
            .collect();
        values.sort_unstable_by(f64::total_cmp);
        let (Some(least), Some(largest)) = (values.first(), values.last()) else { continue };
        let number = |value: f64| Cell::new(digits(value));
        table.rows.push(vec![
            Cell::new(arm),
            Cell::new(values.len().to_string()),
            number(*least),
            number(values[values.len() / 2]),
            number(*largest),
        ]);
        let share = |rank: usize| rank as f64 / values.len() as f64;
        let steps = values
            .iter()
            .enumerate()
            .flat_map(|(rank, value)| [(*value, share(rank)), (*value, share(rank + 1))]);
        let dashed = arm == evidence.plan.null.twin;
        layers.push(Layer::new(arm, Hue::arm(at), Shape::Line { dashed, points: steps.collect() }));
        all.extend(values);
    }
    Figure {
        id: format!("ecdf-{place}"),
        title: format!("Every leg of {}: {}", cell.cell, cell.metric),
        description: "The share of legs of each arm at or below a value; arms that are the same lie on each other.".to_owned(),
        chart: Chart {
            x: Axis::around(&cell.metric, all, 0.05),
            y: Axis { range: (0.0, 1.0), ..Axis::around("share of legs", [], 0.0) },
            layers,
        },
        table,
    }
}
