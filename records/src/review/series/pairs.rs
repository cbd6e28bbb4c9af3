//! Pairs in order of time, the null arm beside them, and the legs that they are made of.

use super::name;
use super::read::{Evidence, Leg};
use crate::number::{self, digits};
use crate::record::{CellVerdict, Series};
use crate::review::chart::{Axis, Chart, Hue, Layer, Mark, Shape};
use crate::review::ecdf;
use crate::review::median::median;
use crate::review::page::{Block, Cell, Figure, Fold, Section, Table, Tone};

/// Words whose plots are open from the start.
const OPEN: usize = 2;

/// One pair: when its first leg began, the turned ratio, and both values as measured.
struct Pair {
    block: u64,
    at_s: f64,
    /// `None` of a DISCARD: its clocks lie apart, so that both values stand and their ratio does not.
    ratio: Option<f64>,
    reference: f64,
    subject: f64,
}

pub(super) fn section(series: &Series, evidence: &Evidence<'_>) -> Option<Section> {
    let mut blocks = Vec::new();
    for (place, cell) in series.cells.iter().enumerate() {
        let pairs = pairs(evidence, cell, &cell.reference, &cell.subject);
        if pairs.is_empty() {
            continue;
        }
        let legs = legs(cell, evidence, place).map(|figure| Block::Figure(Box::new(figure)));
        let inner = if cell.rules.is_empty() {
            let null = &evidence.plan.null;
            let nulls = self::pairs(evidence, cell, &null.of, &null.twin);
            let ratios = vec![
                timed(cell, &pairs, &nulls, place),
                null_arm(cell, evidence, &pairs, &nulls, place),
            ];
            [Some(Block::Beside(ratios)), legs]
        } else {
            // Where a rule fired there is no ratio: not of the whole, and not of a pair.
            let told = format!(
                "{} fired: no ratio is drawn. Legs that broke no rule stand as they were measured.",
                cell.rules.join(", ")
            );
            [Some(Block::Note(Tone::Void, told)), legs]
        };
        let summary = format!("{}: {}, {} pairs", name(cell), cell.word, pairs.len());
        let parts = inner.into_iter().flatten().collect();
        blocks.push(Block::Fold(Fold { summary, open: place < OPEN, blocks: parts }));
    }
    let lead = "Each mark is one pair: the subject's run over the reference's beside it in time, turned so that above 1 is better.";
    (!blocks.is_empty()).then(|| Section::new("pairs", "Pair by pair", Some(lead), blocks))
}

fn pairs(evidence: &Evidence<'_>, cell: &CellVerdict, reference: &str, subject: &str) -> Vec<Pair> {
    let turned = evidence.plan.is_turned(&cell.metric);
    let subjects = evidence.named(&cell.cell, subject);
    let value = |leg: &Leg<'_>| evidence.value(leg, &cell.metric);
    let pair = |leg: &Leg<'_>| {
        let place = subjects.binary_search_by_key(&leg.block, |other| other.block).ok()?;
        let other = subjects[place];
        let (reference, subject) = (value(leg)?, value(other)?);
        let (outcome, beside) = (leg.outcome.as_ref()?, other.outcome.as_ref()?);
        let ratio = if turned { reference / subject } else { subject / reference };
        let ratio = Some(ratio).filter(|_| !beside.is_apart(outcome));
        let at_s = outcome.at_s.min(beside.at_s);
        Some(Pair { block: leg.block?, at_s, ratio, reference, subject })
    };
    let references = evidence.named(&cell.cell, reference);
    let mut pairs: Vec<Pair> = references.into_iter().filter_map(pair).collect();
    pairs.sort_unstable_by(|a, b| a.at_s.total_cmp(&b.at_s));
    pairs
}

/// One scale for both, so that the eye may compare them.
fn scale(pairs: &[Pair], nulls: &[Pair]) -> Axis {
    let ratios = pairs.iter().chain(nulls).filter_map(|pair| pair.ratio).chain([1.0]);
    Axis::around("ratio, above 1 is better", ratios, 0.12)
}

/// The pairs of which there is a ratio as marks, and those that are DISCARD at the foot of the scale, by their time alone.
fn marks(name: &str, hue: Hue, mark: Mark, pairs: &[Pair], scale: &Axis) -> Vec<Layer> {
    let ratios = pairs.iter().filter_map(|pair| Some((pair.at_s / 60.0, pair.ratio?))).collect();
    let foot = scale.range.0 + (scale.range.1 - scale.range.0) * 0.03;
    let apart = pairs.iter().filter(|pair| pair.ratio.is_none());
    let apart: Vec<(f64, f64)> = apart.map(|pair| (pair.at_s / 60.0, foot)).collect();
    let mut layers = vec![Layer::new(name, hue, Shape::Marks(mark, ratios))];
    if !apart.is_empty() {
        let name = "DISCARD: clocks apart, no ratio";
        layers.push(Layer::new(name, Hue::Orange, Shape::Marks(Mark::Bar, apart)));
    }
    layers
}

/// How many pairs are DISCARD.
fn discarded(pairs: &[Pair]) -> usize {
    pairs.iter().filter(|pair| pair.ratio.is_none()).count()
}

fn minutes(pairs: &[Pair], nulls: &[Pair]) -> Axis {
    Axis::around(
        "minutes since the series began",
        pairs.iter().chain(nulls).map(|pair| pair.at_s / 60.0),
        0.04,
    )
}

/// The pairs of a comparison with the interval that decides.
fn timed(cell: &CellVerdict, pairs: &[Pair], nulls: &[Pair], place: usize) -> Figure {
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
    let y = scale(pairs, nulls);
    layers.extend(marks("pair", Hue::Blue, Mark::Dot, pairs, &y));
    let said = cell.ratio.map_or_else(
        || format!("{}: no ratio is said", cell.word),
        |ratio| {
            format!(
                "{}: {}, interval {} to {}",
                cell.word,
                number::ratio(ratio.estimate),
                number::ratio(ratio.low),
                number::ratio(ratio.high)
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
            discarded(pairs)
        ),
        chart: Chart { x: minutes(pairs, nulls), y, layers },
        table: table(pairs, &cell.reference, &cell.subject),
    }
}

/// The null arm: the same against itself.
fn null_arm(
    cell: &CellVerdict,
    evidence: &Evidence<'_>,
    pairs: &[Pair],
    nulls: &[Pair],
    place: usize,
) -> Figure {
    let null = &evidence.plan.null;
    let interval = evidence.compared(cell).and_then(|compared| compared.null);
    let ends = interval.and_then(|found| Some((found.lower?.exp(), found.upper?.exp())));
    let mut layers = Vec::new();
    if let Some((low, high)) = ends {
        layers.push(Layer::new("interval", Hue::Faint, Shape::Band(low, high)));
    }
    layers.push(Layer::new("the same", Hue::Ink, Shape::Level { dashed: true, at: 1.0 }));
    let y = scale(pairs, nulls);
    layers.extend(marks("pair of equals", Hue::Green, Mark::Cross, nulls, &y));
    let said = ends.map_or_else(String::new, |(low, high)| {
        format!(", interval {} to {}", number::ratio(low), number::ratio(high))
    });
    Figure {
        id: format!("null-{place}"),
        title: "Null arm: the same against itself".to_owned(),
        description: format!(
            "{} pairs of {} over {}{said}: what the set-up shows between equals. {} are DISCARD.",
            nulls.len(),
            null.twin,
            null.of,
            discarded(nulls)
        ),
        chart: Chart { x: minutes(pairs, nulls), y, layers },
        table: table(nulls, &null.of, &null.twin),
    }
}

fn table(pairs: &[Pair], reference: &str, subject: &str) -> Table {
    let titles = [format!("{reference}#"), format!("{subject}#")];
    let mut table = Table::new(
        "Pairs in order of time",
        &["pair#", "began, s#", &titles[0], &titles[1], "ratio#", ""],
    );
    for pair in pairs {
        table.push(|| {
            vec![
                Cell::new(pair.block.to_string()),
                Cell::new(format!("{:.0}", pair.at_s)),
                Cell::new(digits(pair.reference)),
                Cell::new(digits(pair.subject)),
                Cell::new(pair.ratio.map_or_else(|| "–".to_owned(), number::ratio)),
                if pair.ratio.is_none() { Cell::word("DISCARD") } else { Cell::default() },
            ]
        });
    }
    table
}

/// The legs of all arms at a cell that broke no rule, as shares at or below a value; none where there is no such leg.
fn legs(cell: &CellVerdict, evidence: &Evidence<'_>, place: usize) -> Option<Figure> {
    let mut layers = Vec::new();
    let mut table = Table::new("Legs", &["arm", "legs#", "least#", "median#", "largest#"]);
    let mut all = Vec::new();
    for (at, arm) in evidence.arms.iter().enumerate() {
        let runs = evidence.named(&cell.cell, arm).into_iter();
        let mut values: Vec<f64> =
            runs.filter_map(|leg| evidence.value(leg, &cell.metric)).collect();
        values.sort_unstable_by(f64::total_cmp);
        let ends = (values.first(), median(&values), values.last());
        let (Some(least), Some(middle), Some(largest)) = ends else { continue };
        let number = |value: f64| Cell::new(digits(value));
        table.rows.push(vec![
            Cell::new(arm),
            Cell::new(values.len().to_string()),
            number(*least),
            number(middle),
            number(*largest),
        ]);
        let dashed = *arm == evidence.plan.null.twin;
        let line = Shape::Line { dashed, points: ecdf::steps(&values) };
        layers.push(Layer::new(arm, Hue::arm(at), line));
        all.extend(values);
    }
    let figure = Figure {
        id: format!("ecdf-{place}"),
        title: format!("Every leg of {}: {}", cell.cell, cell.metric),
        description: "The share of legs of each arm at or below a value, without those that broke a rule; arms that are the same \
                      lie on each other."
            .to_owned(),
        chart: Chart {
            x: Axis::around(&cell.metric, all, 0.05),
            y: Axis { range: (0.0, 1.0), ..Axis::around("share of legs", [], 0.0) },
            layers,
        },
        table,
    };
    (!figure.table.rows.is_empty()).then_some(figure)
}
